/* Bodies of other ranks: who is near, found when lists are made, and what moves of them, at every update. What comes is sorted before it is
   used, and bodies come as the bits that their own rank works with, so contacts do not depend on ranks. */
#include "constraints/detect_impl.h"

#define NBOX 8 /* boxes that say where the bodies of a rank are */

/* The lower ids of equals, so that all ranks agree */
static PetscBool Before_Private(PetscReal a, const PetscReal ida[2], PetscReal b, const PetscReal idb[2])
{
  if (a != b) return (PetscBool)(a < b);
  return (PetscBool)(ida[0] < idb[0] || (ida[0] == idb[0] && ida[1] < idb[1]));
}

static void MPIAPI Summarize_Private(void *in, void *inout, PetscMPIInt *n, MPI_Datatype *type)
{
  (void)type;
  for (PetscMPIInt i = 0; i < *n; i++) {
    const DetectSummary *a = (DetectSummary *)in + i;
    DetectSummary       *b = (DetectSummary *)inout + i;

    b->nbody += a->nbody;
    b->npair += a->npair;
    b->ncandidate += a->ncandidate;
    b->ncontact += a->ncontact;
    b->nrefresh += a->nrefresh;
    b->noverlap += a->noverlap;
    if (Before_Private(a->deepest, a->deepest_body, b->deepest, b->deepest_body)) {
      b->deepest = a->deepest;
      for (PetscInt c = 0; c < 2; c++) b->deepest_body[c] = a->deepest_body[c];
      for (PetscInt c = 0; c < 3; c++) b->deepest_at[c] = a->deepest_at[c];
    }
    if (Before_Private(-a->tunnel, a->tunnel_body, -b->tunnel, b->tunnel_body)) {
      b->tunnel = a->tunnel;
      for (PetscInt c = 0; c < 2; c++) b->tunnel_body[c] = a->tunnel_body[c];
    }
    if (Before_Private(-a->hidden, a->hidden_body, -b->hidden, b->hidden_body)) {
      b->hidden = a->hidden;
      for (PetscInt c = 0; c < 2; c++) b->hidden_body[c] = a->hidden_body[c];
      for (PetscInt c = 0; c < 3; c++) b->hidden_at[c] = a->hidden_at[c];
    }
  }
}

PetscErrorCode DetectorRanksCreate_Private(Detector d)
{
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(d->comm, &d->rank));
  PetscCallMPI(MPI_Comm_size(d->comm, &d->size));
  if (d->size == 1) PetscFunctionReturn(0);
  PetscCall(PetscCommGetNewTag(d->comm, &d->tag));
  PetscCallMPI(MPI_Type_contiguous(sizeof(DetectSummary) / sizeof(PetscReal), MPIU_REAL, &d->type));
  PetscCallMPI(MPI_Type_commit(&d->type));
  PetscCallMPI(MPI_Op_create(Summarize_Private, 1, &d->op));
  PetscFunctionReturn(0);
}

static PetscErrorCode Unsubscribe_Private(Detector d)
{
  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < d->nrecv + d->nsend; k++) PetscCallMPI(MPI_Request_free(&d->request[k]));
  d->nrecv = d->nsend = 0;
  PetscCall(PetscFree(d->request));
  PetscCall(PetscFree(d->sendptr));
  PetscCall(PetscFree(d->sendbody));
  PetscCall(PetscFree(d->recvptr));
  PetscCall(PetscFree(d->recvbody));
  PetscCall(PetscFree(d->sendbuf));
  PetscCall(PetscFree(d->recvbuf));
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorRanksDestroy_Private(Detector d)
{
  PetscFunctionBeginUser;
  if (d->size == 1) PetscFunctionReturn(0);
  PetscCall(Unsubscribe_Private(d));
  PetscCall(PetscFree(d->record));
  PetscCallMPI(MPI_Type_free(&d->type));
  PetscCallMPI(MPI_Op_free(&d->op));
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorRanksReduce_Private(Detector d)
{
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &d->summary, 1, d->type, d->op, d->comm));
  PetscFunctionReturn(0);
}

/* What one rank has for others, or others for it: items of neighbour k are ptr[k] .. ptr[k + 1] - 1 */
typedef struct {
  PetscInt     n;
  PetscMPIInt *rank; /* ascending */
  PetscInt    *ptr;
  void        *item;
} Mail;

static PetscErrorCode MailFree_Private(Mail *m)
{
  PetscFunctionBeginUser;
  PetscCall(PetscFree(m->rank));
  PetscCall(PetscFree(m->ptr));
  PetscCall(PetscFree(m->item));
  PetscFunctionReturn(0);
}

/* Collective: items of so many bytes go to whom they are for */
static PetscErrorCode MailSend_Private(Detector d, size_t bytes, const Mail *out, Mail *in)
{
  MPI_Datatype type;
  MPI_Request *request;
  PetscInt    *count, *got;
  PetscMPIInt  nin;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(out->n, &count));
  for (PetscInt k = 0; k < out->n; k++) count[k] = out->ptr[k + 1] - out->ptr[k];
  PetscCall(PetscCommBuildTwoSided(d->comm, 1, MPIU_INT, (PetscMPIInt)out->n, out->rank, count, &nin, &in->rank, &got));
  PetscCall(PetscSortMPIIntWithIntArray(nin, in->rank, got));
  in->n = nin;
  PetscCall(PetscMalloc1(nin + 1, &in->ptr));
  in->ptr[0] = 0;
  for (PetscInt k = 0; k < nin; k++) in->ptr[k + 1] = in->ptr[k] + got[k];
  PetscCall(PetscMalloc((size_t)in->ptr[nin] * bytes + 1, &in->item));
  PetscCall(PetscMalloc1(nin + out->n, &request));
  PetscCallMPI(MPI_Type_contiguous((PetscMPIInt)bytes, MPI_BYTE, &type));
  PetscCallMPI(MPI_Type_commit(&type));
  for (PetscInt k = 0; k < nin; k++) PetscCallMPI(MPI_Irecv((char *)in->item + (size_t)in->ptr[k] * bytes, (PetscMPIInt)got[k], type, in->rank[k], d->tag, d->comm, &request[k]));
  for (PetscInt k = 0; k < out->n; k++) PetscCallMPI(MPI_Isend((char *)out->item + (size_t)out->ptr[k] * bytes, (PetscMPIInt)count[k], type, out->rank[k], d->tag, d->comm, &request[nin + k]));
  PetscCallMPI(MPI_Waitall((PetscMPIInt)(nin + out->n), request, MPI_STATUSES_IGNORE));
  PetscCallMPI(MPI_Type_free(&type));
  PetscCall(PetscFree(request));
  PetscCall(PetscFree(count));
  PetscCall(PetscFree(got));
  PetscFunctionReturn(0);
}

/* Boxes a few levels down the tree of own bodies: their number, then each */
static void Boxes_Private(Detector d, PetscReal box[1 + 6 * NBOX])
{
  PetscInt list[NBOX] = {0}, n = d->nown ? 1 : 0;

  while (n && n <= NBOX / 2) {
    PetscInt m = n;

    for (PetscInt i = 0; i < n; i++)
      if (d->btree[list[i]].right) {
        list[m++] = d->btree[list[i]].right;
        list[i]++;
      }
    if (m == n) break;
    n = m;
  }
  for (PetscInt i = 0; i < 1 + 6 * NBOX; i++) box[i] = 0;
  box[0] = n;
  for (PetscInt i = 0; i < n; i++)
    for (PetscInt c = 0; c < 6; c++) box[1 + 6 * i + c] = d->btreebox[6 * list[i] + c];
}

static void Record_Private(Detector d, PetscInt i, DetectRecord *r)
{
  const DetectBodyData *b = &d->body[i];
  const DetectPart     *p = &d->part[b->part];

  memset(r, 0, sizeof(*r));
  for (PetscInt c = 0; c < 6; c++) r->fat[c] = b->fat[c];
  for (PetscInt c = 0; c < 3; c++) r->origin[c] = b->origin[c];
  r->skin   = b->skin;
  r->reach  = b->reach;
  r->moved  = b->moved;
  r->rank   = d->rank;
  r->id     = b->id;
  r->kind   = b->kind;
  r->part   = p->number;
  r->nnode  = p->mesh ? p->mesh->nnode : 0;
  r->nelem  = p->mesh ? p->mesh->nelem : 0;
  r->stale  = b->stale;
  r->placed = b->sent;
}

/* Own bodies whose fat boxes meet boxes of each other rank */
static PetscErrorCode Near_Private(Detector d, const PetscReal box[], Mail *out)
{
  DetectRecord *record = NULL;
  PetscInt      n = 0, max = 0, mout = 0, mptr = 0, nstack, mstack = 0, *stack = NULL, *mark;

  PetscFunctionBeginUser;
  memset(out, 0, sizeof(*out));
  PetscCall(PetscMalloc1(d->nown, &mark));
  for (PetscInt i = 0; i < d->nown; i++) mark[i] = -1;
  GrowArray(1, mptr, out->ptr);
  out->ptr[0] = 0;
  for (PetscMPIInt r = 0; r < d->size && d->nown; r++) {
    const PetscReal *theirs = box + (1 + 6 * NBOX) * (size_t)r;
    const PetscInt   before = n;

    for (PetscInt k = 0; k < (PetscInt)theirs[0] && r != d->rank; k++) {
      const PetscReal *b = theirs + 1 + 6 * k;

      GrowArray(1, mstack, stack);
      stack[0] = 0;
      for (nstack = 1; nstack;) {
        const PetscInt         i = stack[--nstack];
        const SurfaceTreeNode *t = &d->btree[i];

        if (DetectApart_Private(b, d->btreebox + 6 * i)) continue;
        if (t->right) {
          GrowArray(nstack + 2, mstack, stack);
          stack[nstack++] = t->right;
          stack[nstack++] = i + 1;
          continue;
        }
        for (PetscInt l = t->first; l < t->first + t->count; l++) {
          const PetscInt j = d->border[l];

          if (mark[j] == r || DetectApart_Private(b, d->body[j].fat)) continue;
          mark[j] = r;
          GrowArray(n + 1, max, record);
          Record_Private(d, j, &record[n++]);
        }
      }
    }
    if (n == before) continue;
    GrowArray(out->n + 1, mout, out->rank);
    GrowArray(out->n + 2, mptr, out->ptr);
    out->rank[out->n++] = r;
    out->ptr[out->n]    = n;
  }
  out->item = record;
  PetscCall(PetscFree(stack));
  PetscCall(PetscFree(mark));
  PetscFunctionReturn(0);
}

static int RecordCompare_Private(const void *a, const void *b)
{
  const DetectRecord *r = a, *s = b;

  return (r->id > s->id) - (r->id < s->id);
}

PetscErrorCode DetectorRanksFind_Private(Detector d)
{
  PetscReal mine[1 + 6 * NBOX], *all;
  Mail      out, in;
  PetscInt  n;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < d->nown; i++) PetscCheck(d->part[d->body[i].part].number >= 0, PETSC_COMM_SELF, PETSC_ERR_ORDER, "body %" PetscInt_FMT ": DetectorSetPart() was not called for its surface", d->body[i].id);
  PetscCall(DetectorTree_Private(d, d->nown));
  Boxes_Private(d, mine);
  PetscCall(PetscMalloc1((size_t)d->size * (1 + 6 * NBOX), &all));
  PetscCallMPI(MPI_Allgather(mine, 1 + 6 * NBOX, MPIU_REAL, all, 1 + 6 * NBOX, MPIU_REAL, d->comm));
  PetscCall(Near_Private(d, all, &out));
  PetscCall(PetscFree(all));
  PetscCall(MailSend_Private(d, sizeof(DetectRecord), &out, &in));
  PetscCall(MailFree_Private(&out));
  PetscCall(PetscFree(d->record));
  d->record = in.item;
  in.item   = NULL;
  n         = in.ptr[in.n];
  PetscCall(MailFree_Private(&in));
  if (n) qsort(d->record, (size_t)n, sizeof(*d->record), RecordCompare_Private);
  if (d->nown + n > d->mbody) {
    d->mbody = d->nown + n + n / 2;
    PetscCall(PetscRealloc((size_t)d->mbody * sizeof(*d->body), &d->body));
    PetscCall(PetscRealloc((size_t)d->mbody * sizeof(*d->place), &d->place));
    PetscCall(PetscRealloc((size_t)d->mbody * sizeof(*d->ref), &d->ref));
  }
  d->nbody = d->nown + n;
  for (PetscInt i = 0; i < n; i++) {
    const DetectRecord *r = &d->record[i];
    DetectBodyData     *b = &d->body[d->nown + i];

    memset(b, 0, sizeof(*b));
    for (PetscInt c = 0; c < 6; c++) b->fat[c] = r->fat[c];
    for (PetscInt c = 0; c < 3; c++) b->origin[c] = r->origin[c];
    b->skin  = r->skin;
    b->reach = r->reach;
    b->moved = r->moved;
    b->rank  = (PetscMPIInt)r->rank;
    b->id    = r->id;
    b->kind  = r->kind;
    b->stale = (PetscBool)r->stale;
    b->ghost = PETSC_TRUE;
    b->sent = b->placed = (PetscBool)r->placed;
  }
  PetscFunctionReturn(0);
}

/* Keeps the ghosts that pairs have */
static PetscErrorCode Used_Private(Detector d)
{
  PetscInt *at, n = d->nown;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc1(d->nbody, &at));
  for (PetscInt i = 0; i < d->npair; i++)
    for (PetscInt k = 0; k < 2; k++) at[d->pair[i].body[k]] = 1;
  for (PetscInt i = d->nown; i < d->nbody; i++) {
    if (!at[i]) continue;
    d->body[n]             = d->body[i];
    d->record[n - d->nown] = d->record[i - d->nown];
    at[i]                  = n++;
  }
  for (PetscInt i = 0; i < d->npair; i++)
    for (PetscInt k = 0; k < 2; k++)
      if (d->pair[i].body[k] >= d->nown) d->pair[i].body[k] = at[d->pair[i].body[k]];
  d->nbody = n;
  PetscCall(PetscFree(at));
  PetscFunctionReturn(0);
}

typedef struct {
  PetscInt rank, part, id, body; /* part: -1 for a body, which come first */
} Wish;

static int WishCompare_Private(const void *a, const void *b)
{
  const Wish *p = a, *q = b;

  if (p->rank != q->rank) return p->rank < q->rank ? -1 : 1;
  if (p->part != q->part) return p->part < q->part ? -1 : 1;
  return (p->id > q->id) - (p->id < q->id);
}

/* Bodies of others that are used, and parts of them that this rank does not have */
static PetscErrorCode Wishes_Private(Detector d, PetscInt *nwish, Wish **wish)
{
  const PetscInt n = d->nbody - d->nown, m = d->npart;
  PetscInt      *number, *part, nmiss = 0, *miss, k;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(2 * n, wish));
  PetscCall(PetscMalloc3(m, &number, m, &part, n, &miss));
  for (PetscInt i = 0; i < m; i++) number[i] = d->part[i].number, part[i] = i;
  PetscCall(PetscSortIntWithArray(m, number, part));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(PetscFindInt(d->record[i].part, m, number, &k));
    d->body[d->nown + i].part = k < 0 ? -1 : part[k];
    (*wish)[i]                = (Wish){d->record[i].rank, -1, d->record[i].id, d->nown + i};
    if (k < 0) miss[nmiss++] = i;
  }
  *nwish = n;
  /* of each part the first body: sorted by part, bodies are still by id */
  for (PetscInt i = 0; i < nmiss; i++) (*wish)[n + i] = (Wish){0, d->record[miss[i]].part, d->record[miss[i]].id, d->nown + miss[i]};
  if (nmiss) qsort(*wish + n, (size_t)nmiss, sizeof(Wish), WishCompare_Private);
  for (PetscInt i = 0; i < nmiss; i++) {
    Wish w = (*wish)[n + i];

    if (i && (*wish)[*nwish - 1].part == w.part) continue;
    w.rank              = d->body[w.body].rank;
    (*wish)[(*nwish)++] = w;
  }
  if (*nwish) qsort(*wish, (size_t)*nwish, sizeof(Wish), WishCompare_Private);
  PetscCall(PetscFree3(number, part, miss));
  PetscFunctionReturn(0);
}

/* Parts that were asked for go out and come in */
static PetscErrorCode Parts_Private(Detector d, PetscInt nwish, const Wish wish[], const Mail *asked)
{
  const Wish  *a = asked->item;
  MPI_Request *request;
  PetscInt     n = 0, nout = 0, **conn, *number, *part, first = d->npart, k;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < nwish; i++) n += 2 * (wish[i].part >= 0);
  for (PetscInt i = 0; i < asked->ptr[asked->n]; i++) nout += a[i].part >= 0;
  PetscCall(PetscMalloc1(n + 2 * nout, &request));
  PetscCall(PetscMalloc1(nout, &conn));
  PetscCall(PetscMalloc2(d->npart, &number, d->npart, &part));
  for (PetscInt i = 0; i < d->npart; i++) number[i] = d->part[i].number, part[i] = i;
  PetscCall(PetscSortIntWithArray(d->npart, number, part));
  n = nout = 0;
  for (PetscInt i = 0; i < nwish; i++) {
    const DetectRecord *r;
    DetectPart         *p;
    Mesh                mesh;

    if (wish[i].part < 0) continue;
    r = &d->record[wish[i].body - d->nown];
    GrowArray(d->npart + 1, d->mpart, d->part);
    p = &d->part[d->npart++];
    memset(p, 0, sizeof(*p));
    PetscCall(MeshCreate(&mesh));
    PetscCall(PetscMalloc1(3 * r->nnode, &mesh->coord));
    PetscCall(PetscCalloc1(1, &mesh->block));
    PetscCall(PetscMalloc1(8 * r->nelem, &mesh->block->conn));
    PetscCall(PetscStrallocpy("elements", &mesh->block->name));
    PetscCall(PetscStrcpy(mesh->block->type, "hex8"));
    mesh->nnode        = r->nnode;
    mesh->nelem        = mesh->block->nelem = r->nelem;
    mesh->nblock       = 1;
    mesh->block->nnode = 8;
    p->number          = wish[i].part;
    p->mesh            = mesh;
    p->made            = PETSC_TRUE;
    PetscCallMPI(MPI_Irecv(mesh->coord, (PetscMPIInt)(3 * r->nnode), MPIU_REAL, (PetscMPIInt)wish[i].rank, d->tag, d->comm, &request[n++]));
    PetscCallMPI(MPI_Irecv(mesh->block->conn, (PetscMPIInt)(8 * r->nelem), MPIU_INT, (PetscMPIInt)wish[i].rank, d->tag, d->comm, &request[n++]));
  }
  for (PetscInt q = 0; q < asked->n; q++)
    for (PetscInt i = asked->ptr[q]; i < asked->ptr[q + 1]; i++) {
      PetscInt e = 0;
      Mesh     mesh;

      if (a[i].part < 0) continue;
      PetscCall(PetscFindInt(a[i].part, first, number, &k));
      mesh = d->part[part[k]].mesh;
      PetscCall(PetscMalloc1(8 * mesh->nelem, &conn[nout]));
      for (PetscInt b = 0; b < mesh->nblock; b++) {
        PetscCall(PetscArraycpy(conn[nout] + 8 * e, mesh->block[b].conn, 8 * mesh->block[b].nelem));
        e += mesh->block[b].nelem;
      }
      PetscCallMPI(MPI_Isend(mesh->coord, (PetscMPIInt)(3 * mesh->nnode), MPIU_REAL, asked->rank[q], d->tag, d->comm, &request[n++]));
      PetscCallMPI(MPI_Isend(conn[nout++], (PetscMPIInt)(8 * mesh->nelem), MPIU_INT, asked->rank[q], d->tag, d->comm, &request[n++]));
    }
  PetscCallMPI(MPI_Waitall((PetscMPIInt)n, request, MPI_STATUSES_IGNORE));
  for (PetscInt i = 0; i < nout; i++) PetscCall(PetscFree(conn[i]));
  PetscCall(PetscFree(conn));
  PetscCall(PetscFree(request));
  PetscCall(PetscFree2(number, part));
  for (PetscInt i = first; i < d->npart; i++) {
    const DetectPart p = d->part[i];
    Surface          s;

    PetscCall(SurfaceCreate(p.mesh, &s));
    PetscCall(DetectPartSetUp_Private(&d->part[i], s));
    d->part[i].number = p.number;
    d->part[i].mesh   = p.mesh;
    d->part[i].made   = PETSC_TRUE;
  }
  if (first < d->npart) { /* parts that were missing, once */
    PetscCall(PetscMalloc2(d->npart, &number, d->npart, &part));
    for (PetscInt i = 0; i < d->npart; i++) number[i] = d->part[i].number, part[i] = i;
    PetscCall(PetscSortIntWithArray(d->npart, number, part));
    for (PetscInt i = d->nown; i < d->nbody; i++) {
      PetscCall(PetscFindInt(d->record[i - d->nown].part, d->npart, number, &k));
      d->body[i].part = part[k];
    }
    PetscCall(PetscFree2(number, part));
  }
  PetscFunctionReturn(0);
}

/* Reals that a body sends: its placement, or its motion and nodes */
#define MOTION 17
static PetscInt Length_Private(Detector d, const DetectBodyData *b)
{
  return b->sent ? (PetscInt)(sizeof(DetectPlacement) / sizeof(PetscReal)) : MOTION + 3 * d->part[b->part].surface->nnode;
}

static PetscErrorCode Buffer_Private(Detector d, PetscInt n, const PetscInt ptr[], const PetscInt body[], PetscReal **buf, PetscInt at[])
{
  PetscFunctionBeginUser;
  at[0] = 0;
  for (PetscInt k = 0; k < n; k++) {
    at[k + 1] = at[k];
    for (PetscInt i = ptr[k]; i < ptr[k + 1]; i++) at[k + 1] += Length_Private(d, &d->body[body[i]]);
  }
  PetscCall(PetscMalloc1(at[n], buf));
  PetscFunctionReturn(0);
}

/* The bodies of wishes and what others asked for, for all updates until lists are made again */
static PetscErrorCode Subscribe_Private(Detector d, PetscInt nwish, const Wish wish[], const Mail *out, const Mail *asked)
{
  const PetscInt nasked = asked->ptr[asked->n];
  const Wish    *a      = asked->item;
  PetscInt       n = 0, *id, *at, nnode = 0, ntree = 0, nfacet = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = d->nown; i < d->nbody; i++) {
    const Surface s = d->part[d->body[i].part].surface;

    d->body[i].first = nnode;
    d->body[i].tree  = ntree;
    d->body[i].facet = nfacet;
    nfacet += s->nfacet;
    nnode += s->nnode;
    ntree += s->ntree;
  }
  GrowArray(3 * nnode, d->mgnode, d->gx);
  GrowArray(6 * ntree, d->mgtree, d->gtreebox);
  GrowArray(nfacet, d->mgfacet, d->gnow);
  for (PetscInt f = 0; f < nfacet; f++) d->gnow[f].update = 0;
  d->nrecv = out->n;
  d->nsend = asked->n;
  PetscCall(PetscMalloc1(d->nrecv + 1, &d->recvptr));
  PetscCall(PetscMalloc1(nwish, &d->recvbody));
  PetscCall(PetscMalloc1(d->nsend + 1, &d->sendptr));
  PetscCall(PetscMalloc1(nasked, &d->sendbody));
  PetscCall(PetscMalloc1(d->nrecv + d->nsend, &d->request));
  PetscCall(PetscMalloc2(d->nown, &id, PetscMax(d->nrecv, d->nsend) + 1, &at));
  for (PetscInt k = 0; k < d->nrecv; k++) {
    d->recvptr[k] = n;
    for (PetscInt i = out->ptr[k]; i < out->ptr[k + 1]; i++)
      if (wish[i].part < 0) d->recvbody[n++] = wish[i].body;
  }
  d->recvptr[d->nrecv] = n;
  PetscCall(Buffer_Private(d, d->nrecv, d->recvptr, d->recvbody, &d->recvbuf, at));
  for (PetscInt k = 0; k < d->nrecv; k++) PetscCallMPI(MPI_Recv_init(d->recvbuf + at[k], (PetscMPIInt)(at[k + 1] - at[k]), MPIU_REAL, out->rank[k], d->tag, d->comm, &d->request[k]));
  n = 0;
  for (PetscInt i = 0; i < d->nown; i++) id[i] = d->body[i].id;
  for (PetscInt k = 0; k < d->nsend; k++) {
    d->sendptr[k] = n;
    for (PetscInt i = asked->ptr[k]; i < asked->ptr[k + 1]; i++)
      if (a[i].part < 0) PetscCall(PetscFindInt(a[i].id, d->nown, id, &d->sendbody[n++]));
  }
  d->sendptr[d->nsend] = n;
  PetscCall(Buffer_Private(d, d->nsend, d->sendptr, d->sendbody, &d->sendbuf, at));
  for (PetscInt k = 0; k < d->nsend; k++) PetscCallMPI(MPI_Send_init(d->sendbuf + at[k], (PetscMPIInt)(at[k + 1] - at[k]), MPIU_REAL, asked->rank[k], d->tag, d->comm, &d->request[d->nrecv + k]));
  PetscCall(PetscFree2(id, at));
  PetscFunctionReturn(0);
}

PetscErrorCode DetectorRanksSubscribe_Private(Detector d)
{
  Mail     out, asked;
  Wish    *wish  = NULL;
  PetscInt nwish = 0;

  PetscFunctionBeginUser;
  PetscCall(Unsubscribe_Private(d));
  PetscCall(Used_Private(d));
  PetscCall(Wishes_Private(d, &nwish, &wish));
  memset(&out, 0, sizeof(out));
  PetscCall(PetscMalloc1(nwish + 1, &out.rank));
  PetscCall(PetscMalloc1(nwish + 1, &out.ptr));
  out.item = wish;
  for (PetscInt i = 0; i < nwish; i++)
    if (!i || wish[i - 1].rank != wish[i].rank) {
      out.ptr[out.n]    = i;
      out.rank[out.n++] = (PetscMPIInt)wish[i].rank;
    }
  out.ptr[out.n] = nwish;
  PetscCall(MailSend_Private(d, sizeof(Wish), &out, &asked));
  PetscCall(Parts_Private(d, nwish, wish, &asked));
  PetscCall(Subscribe_Private(d, nwish, wish, &out, &asked));
  PetscCall(MailFree_Private(&asked));
  PetscCall(MailFree_Private(&out));
  PetscFunctionReturn(0);
}

static void Pack_Private(Detector d, const DetectBodyData *b, PetscReal buf[])
{
  const PetscReal *x = DetectNodes_Private(d, b);

  for (PetscInt c = 0; c < 3; c++) {
    buf[c]      = b->low[c];
    buf[3 + c]  = b->high[c];
    buf[6 + c]  = b->centre[c];
    buf[9 + c]  = b->velocity[c];
    buf[12 + c] = b->spin[c];
  }
  buf[15] = b->deform;
  buf[16] = b->speed;
  for (PetscInt i = 0; i < 3 * d->part[b->part].surface->nnode; i++) buf[MOTION + i] = x[i];
}

static void Unpack_Private(Detector d, DetectBodyData *b, const PetscReal buf[])
{
  PetscReal *x = DetectNodes_Private(d, b);

  for (PetscInt c = 0; c < 3; c++) {
    b->low[c]      = buf[c];
    b->high[c]     = buf[3 + c];
    b->centre[c]   = buf[6 + c];
    b->velocity[c] = buf[9 + c];
    b->spin[c]     = buf[12 + c];
  }
  b->deform = buf[15];
  b->speed  = buf[16];
  for (PetscInt i = 0; i < 3 * d->part[b->part].surface->nnode; i++) x[i] = buf[MOTION + i];
}

PetscErrorCode DetectorRanksExchange_Private(Detector d)
{
  PetscReal *buf = d->sendbuf;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < d->sendptr[d->nsend]; k++) {
    const PetscInt i = d->sendbody[k];

    if (d->body[i].sent) PetscCall(PetscMemcpy(buf, &d->place[i], sizeof(DetectPlacement)));
    else Pack_Private(d, &d->body[i], buf);
    buf += Length_Private(d, &d->body[i]);
  }
  if (d->nrecv + d->nsend) {
    PetscCallMPI(MPI_Startall((PetscMPIInt)(d->nrecv + d->nsend), d->request));
    PetscCallMPI(MPI_Waitall((PetscMPIInt)(d->nrecv + d->nsend), d->request, MPI_STATUSES_IGNORE));
  }
  buf = d->recvbuf;
  for (PetscInt k = 0; k < d->recvptr[d->nrecv]; k++) {
    const PetscInt i = d->recvbody[k];

    if (d->body[i].sent) {
      PetscCall(PetscMemcpy(&d->place[i], buf, sizeof(DetectPlacement)));
      DetectPlace_Private(d, i);
      DetectMotion_Private(d, i);
    } else Unpack_Private(d, &d->body[i], buf);
    buf += Length_Private(d, &d->body[i]);
  }
  PetscFunctionReturn(0);
}
