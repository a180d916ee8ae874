/* Is this a whole Exodus II file? libexodusII does not say: it reads zeros behind the end of a file in netCDF's classic formats, leaves
   a file open that it refuses, and prints lines of its own about others. So files are looked at before it gets them. */
#include "meshes/mesh_impl.h"
#include <hdf5.h>

/* Attributes without which libexodusII gives up; old files have blanks in the second */
static const char *const needed[] = {"version", "floating_point_word_size", "floating point word size"};

typedef struct {
  FILE     *fd;
  int64_t   size;          /* of the file */
  int       count, offset; /* bytes of a number of things, and of a place in the file */
  PetscBool bad;
} Header;

/* Big-endian integer */
static int64_t HeaderInteger_Private(Header *h, int bytes)
{
  uint64_t value = 0;

  for (int i = 0; i < bytes && !h->bad; i++) {
    const int c = getc_unlocked(h->fd);

    if (c == EOF) h->bad = PETSC_TRUE;
    value = value << 8 | (uint64_t)(c & 255);
  }
  if (value > INT64_MAX) h->bad = PETSC_TRUE;
  return h->bad ? 0 : (int64_t)value;
}

/* n bytes and the padding to a multiple of 4; their beginning is kept as text */
static void HeaderText_Private(Header *h, int64_t n, char text[], int64_t room)
{
  const int64_t keep = PetscMin(n, room - 1);

  if (!h->bad && (n > h->size || fread(text, 1, (size_t)keep, h->fd) != (size_t)keep)) h->bad = PETSC_TRUE;
  text[h->bad ? 0 : keep] = 0;
  for (int64_t i = keep; i < (n + 3) / 4 * 4 && !h->bad; i++) /* not by fseek(), which drops what is read ahead */
    if (getc_unlocked(h->fd) == EOF) h->bad = PETSC_TRUE;
}

static int64_t HeaderTypeSize_Private(Header *h)
{
  static const int64_t sizes[12] = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
  const int64_t        type = HeaderInteger_Private(h, 4);

  if (type < 1 || type > 11) h->bad = PETSC_TRUE;
  return h->bad ? 1 : sizes[type];
}

/* A list of attributes; how many of the needed ones are among them */
static int HeaderAttributes_Private(Header *h)
{
  int64_t n;
  int     found = 0;

  (void)HeaderInteger_Private(h, 4); /* a tag, here and below */
  n = HeaderInteger_Private(h, h->count);
  for (int64_t i = 0; i < n && !h->bad; i++) {
    char    text[32];
    int64_t each, many;

    HeaderText_Private(h, HeaderInteger_Private(h, h->count), text, sizeof(text));
    for (size_t k = 0; k < sizeof(needed) / sizeof(needed[0]); k++) found += !strcmp(text, needed[k]);
    each = HeaderTypeSize_Private(h);
    many = HeaderInteger_Private(h, h->count);
    HeaderText_Private(h, each * PetscMin(many, h->size), text, sizeof(text));
  }
  return found;
}

/* The header of a classic file says where every variable is: the file must reach that far. */
static PetscErrorCode ClassicIsWhole_Private(Header *h, PetscBool *whole, PetscInt64 times[2], ExodusVariable variable, void *ctx)
{
  int64_t records, ndim, nvar, *length = NULL, end = 0, record_begin = INT64_MAX, record_end = 0, record_size = 0;
  char    text[64];

  PetscFunctionBeginUser;
  *whole  = PETSC_FALSE;
  records = HeaderInteger_Private(h, h->count);
  if (records == UINT32_MAX) records = 0; /* not told */
  (void)HeaderInteger_Private(h, 4);
  ndim = HeaderInteger_Private(h, h->count);
  if (h->bad || ndim > h->size / 8) PetscFunctionReturn(0);
  PetscCall(PetscMalloc1(ndim, &length));
  for (int64_t i = 0; i < ndim && !h->bad; i++) {
    HeaderText_Private(h, HeaderInteger_Private(h, h->count), text, sizeof(text));
    length[i] = HeaderInteger_Private(h, h->count); /* 0: that of the records */
  }
  if (HeaderAttributes_Private(h) < 2) h->bad = PETSC_TRUE;
  (void)HeaderInteger_Private(h, 4);
  nvar = HeaderInteger_Private(h, h->count);
  for (int64_t i = 0; i < nvar && !h->bad; i++) {
    int64_t   rank, extent = 1, begin, most = h->size;
    PetscBool record = PETSC_FALSE;

    HeaderText_Private(h, HeaderInteger_Private(h, h->count), text, sizeof(text));
    rank = HeaderInteger_Private(h, h->count);
    for (int64_t k = 0; k < rank && !h->bad; k++) {
      const int64_t id = HeaderInteger_Private(h, h->count);

      if (id >= ndim || (k && !length[id]) || (length[id] && extent > most / length[id])) h->bad = PETSC_TRUE;
      else if (length[id]) extent *= length[id];
      else {
        record = PETSC_TRUE;
        if (!records) most = (int64_t)1 << 40; /* without times, what would be in them need not be in the file */
      }
    }
    (void)HeaderAttributes_Private(h);
    extent *= HeaderTypeSize_Private(h);
    (void)HeaderInteger_Private(h, h->count); /* the size, which does not fit here for large variables */
    begin = HeaderInteger_Private(h, h->offset);
    if (begin > most || extent > most) h->bad = PETSC_TRUE;
    if (h->bad) break;
    if (record) {
      if (variable) (*variable)(ctx, text, begin, extent);
      record_size += (extent + 3) / 4 * 4;
      record_begin = PetscMin(record_begin, begin);
      record_end = PetscMax(record_end, begin + extent);
    } else end = PetscMax(end, begin + extent);
  }
  if (records && record_size) {
    if (records - 1 > h->size / record_size) h->bad = PETSC_TRUE;
    else end = PetscMax(end, record_end + (records - 1) * record_size);
  }
  PetscCall(PetscFree(length));
  *whole = !h->bad && end <= h->size ? PETSC_TRUE : PETSC_FALSE;
  if (*whole && times && record_size) {
    times[0] = record_begin;
    times[1] = record_size;
  }
  PetscFunctionReturn(0);
}

/* HDF5 itself sees whether a file is cut; quietly */
static PetscBool Hdf5IsWhole_Private(const char file[])
{
  PetscBool whole = PETSC_FALSE;
  hid_t     h5;

  H5E_BEGIN_TRY
  {
    h5 = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (h5 >= 0) {
      whole = H5Aexists(h5, needed[0]) > 0 && (H5Aexists(h5, needed[1]) > 0 || H5Aexists(h5, needed[2]) > 0) ? PETSC_TRUE : PETSC_FALSE;
      (void)H5Fclose(h5);
    }
  }
  H5E_END_TRY
  return whole;
}

PetscErrorCode ExodusIsWhole_Private(const char file[], PetscBool *whole, PetscInt64 times[2], ExodusVariable variable, void *ctx)
{
  unsigned char  magic[4] = {0};
  Header         h = {.bad = PETSC_FALSE};
  PetscErrorCode ierr = 0;

  PetscFunctionBeginUser;
  *whole = PETSC_FALSE;
  if (times) times[0] = times[1] = 0;
  h.fd = fopen(file, "rb");
  if (!h.fd) PetscFunctionReturn(0);
  if (!fseeko(h.fd, 0, SEEK_END)) h.size = (int64_t)ftello(h.fd);
  rewind(h.fd);
  if (fread(magic, 1, 4, h.fd) == 4 && !memcmp(magic, "CDF", 3) && (magic[3] == 1 || magic[3] == 2 || magic[3] == 5)) {
    h.count  = magic[3] == 5 ? 8 : 4;
    h.offset = magic[3] == 1 ? 4 : 8;
    ierr     = ClassicIsWhole_Private(&h, whole, times, variable, ctx);
    fclose(h.fd);
  } else {
    fclose(h.fd);
    if (!memcmp(magic, "\211HDF", 4)) *whole = Hdf5IsWhole_Private(file);
  }
  PetscCall(ierr);
  PetscFunctionReturn(0);
}
