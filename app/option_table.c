#include "option_table.h"
#include "settings.h"

#define OWN(group, name, def, meaning)         {group, name, def, meaning, PETSC_FALSE, 0}
#define PETSC(kind, group, name, def, meaning) {group, name, def, meaning, PETSC_TRUE, kind}

/* clang-format off */
const Option option_table[] = {
  OWN("Run", "options_file", "", "options file (YAML); several: give it again or separate by commas, later ones win (command line only)"),
  OWN("Run", "help", "false", "print all options and stop"),
  OWN("Run", "check", "false", "read and check everything, do not run"),
  OWN("Run", "summary", "", "JSON file with figures of the whole run"),
  OWN("Run", "max_wall_time", "0", "stop in good order after this many seconds (0: no limit)"),
  OWN("Run", "progress", "true", "print a line of progress now and then"),
  OWN("Run", "restart", "", "checkpoint file to go on from"),
  OWN("Run", "checkpoint", "", "checkpoint file to write"),
  OWN("Run", "checkpoint_every", "0", "steps between checkpoints (0: at the end and when interrupted only)"),
  OWN("Run", "energy_guard", "0.1", "stop when the total energy grows by more than this part of the largest energy seen (0: never)"),
  OWN("Run", "energy_every", "1", "steps between evaluations of the energies"),
  OWN("Run", "step_failure", "stop", "when the forces of a step have not converged, or bodies may pass through each other: stop; cut (do the step again as two halves, and these, up to 10 times); continue (count it)"),
  OWN("Run", "indicator_warn", "0.3", "warn when the stability indicator c h^2 omega / r_g of a body passes this value (tl: 0.45 of it)"),

  OWN("Contact problems", "fclib", "", "solve these files of friction-contact problems (FCLib's HDF5 form) instead of running a model"),
  OWN("Contact problems", "fclib_solution", "", "folder for copies of the files with their solutions"),
  OWN("Contact problems", "fclib_repeat", "1", "solve each so many times from nothing; the least time is told"),

  OWN("Model", "bodies", "", "names of the bodies; each has a section of its name"),
  OWN("Model", "gravity", "0,0,0", "acceleration, 3 numbers or expressions of t [m/s^2]"),
  OWN("Model", "forces", "", "names of the point forces; each has a section of its name"),
  OWN("Model", "constraints", "", "names of the constraints: supports, prescribed motion, joints; each has a section of its name"),
  OWN("Model", "probes", "", "names of the probes; each has a section of its name"),

  OWN("Body", "<body>_part", "", "part whose section gives what the body's own does not"),
  OWN("Body", "<body>_mesh_type", "", "mesh generator: box, pipe, voussoir or exodus"),
  OWN("Body", "<body>_mesh_file", "", "file of mesh type exodus"),
  OWN("Body", "<body>_mesh_size", "", "edges of a box, 3 numbers [m]"),
  OWN("Body", "<body>_mesh_cells", "1,1,1; pipe 8,24,1", "elements along each direction of a generated mesh, 3 numbers; voussoir: along the arc, y, the radius"),
  OWN("Body", "<body>_mesh_inner_radius", "", "inner radius of a pipe [m]"),
  OWN("Body", "<body>_mesh_thickness", "", "wall of a pipe, or of the arch of a voussoir (along the radius) [m]"),
  OWN("Body", "<body>_mesh_length", "", "length of a pipe, along x [m]"),
  OWN("Body", "<body>_mesh_radius", "", "radius of a voussoir's arch at half its thickness [m]"),
  OWN("Body", "<body>_mesh_depth", "", "depth of a voussoir, along y [m]"),
  OWN("Body", "<body>_mesh_angle", "", "part of the arch that a voussoir takes [degrees]"),
  OWN("Body", "<body>_mesh_flat", "true", "a voussoir is straight between its joint faces (false: follows the circle)"),
  OWN("Body", "<body>_material_type", "svk", "svk (St Venant-Kirchhoff) or linear (small strains)"),
  OWN("Body", "<body>_material_young", "", "Young's modulus [Pa]"),
  OWN("Body", "<body>_material_poisson", "", "Poisson's ratio"),
  OWN("Body", "<body>_material_density", "", "density [kg/m^3]"),
  OWN("Body", "<body>_formulation", "bc", "tl (total Lagrangian), bc (body co-rotated), rigid or obstacle"),
  OWN("Body", "<body>_rotate", "0,0,0", "rotation vector that turns the mesh about the origin [degrees]"),
  OWN("Body", "<body>_translate", "0,0,0", "then moves it [m]"),
  OWN("Body", "<body>_velocity", "0,0,0", "initial velocity [m/s]"),
  OWN("Body", "<body>_angular_velocity", "0,0,0", "initial angular velocity about the mass centre [rad/s]"),
  OWN("Body", "<body>_damping", "0", "stiffness-proportional damping eta [s]"),
  OWN("Body", "<body>_mass_damping", "0", "mass-proportional damping [1/s]"),
  OWN("Body", "<body>_frame", "mass", "co-rotated frame: mass (weighted fit) or volume (mean deformation gradient)"),
  OWN("Body", "<body>_conserve", "true", "keep linear and angular momentum exact (tl, bc)"),
  OWN("Body", "<body>_tangent", "corrected", "operator of tl: corrected (solves with the factor of the undeformed body, repeated) or factored (in every step)"),
  OWN("Body", "<body>_motion_x", "0", "displacement of an obstacle along x: expression of t or CSV file of t, value [m]"),
  OWN("Body", "<body>_motion_y", "0", "along y [m]"),
  OWN("Body", "<body>_motion_z", "0", "along z [m]"),
  OWN("Body", "<body>_motion_rx", "0", "x of an obstacle's rotation vector: expression of t or CSV file of t, value [degrees]"),
  OWN("Body", "<body>_motion_ry", "0", "y of it [degrees]"),
  OWN("Body", "<body>_motion_rz", "0", "z of it [degrees]"),
  OWN("Body", "<body>_copies_file", "", "CSV file with one placement per copy"),
  OWN("Body", "<body>_copies_grid", "", "copies along x, y, z, 3 numbers"),
  OWN("Body", "<body>_copies_spacing", "", "distances between the copies of a grid, 3 numbers [m]"),
  OWN("Body", "<body>_copies_random", "", "number of copies placed at random"),
  OWN("Body", "<body>_copies_box", "", "box for their centres: lower and upper corner, 6 numbers [m]"),
  OWN("Body", "<body>_copies_seed", "1", "seed of random places and orientations"),
  OWN("Body", "<body>_copies_rotate", "false", "random orientations (of a grid or of random places)"),
  OWN("Body", "<body>_copies_ring", "", "number of copies around a circle, each turned by its angle"),
  OWN("Body", "<body>_copies_radius", "", "radius of that circle [m]"),
  OWN("Body", "<body>_copies_angle", "360", "angle that the copies share; each stands in the middle of its part [degrees]"),
  OWN("Body", "<body>_copies_start", "-angle/2", "where that angle starts, from straight above the centre (axis z: from x) [degrees]"),
  OWN("Body", "<body>_copies_axis", "y", "axis of the circle: x, y, z or 3 numbers"),

  OWN("Force", "<force>_body", "", "body (name or glob such as FB*) the force acts on"),
  OWN("Force", "<force>_point", "", "point it acts at, in the placed state, 3 numbers [m]"),
  OWN("Force", "<force>_offset", "", "or from the mass centre of the placed body, 3 numbers [m]"),
  OWN("Force", "<force>_direction", "", "direction, 3 numbers; the force is value times direction"),
  OWN("Force", "<force>_value", "1", "value: number, expression of t (and of x, y, z where it acts) or CSV file of t, value [N]"),

  OWN("Probe", "<probe>_body", "", "body the probe sits on"),
  OWN("Probe", "<probe>_point", "", "its point in the placed state, 3 numbers [m]"),
  OWN("Probe", "<probe>_offset", "", "or from the mass centre of the placed body, 3 numbers [m]"),

  OWN("Constraint", "<constraint>_type", "", "fixed (point held in all directions), direction (along one), velocity, displacement (a value along one), ball (points of two bodies stay together)"),
  OWN("Constraint", "<constraint>_body", "", "body (name or glob such as FB*) that is held"),
  OWN("Constraint", "<constraint>_other", "", "of a ball: the other body, or an obstacle"),
  OWN("Constraint", "<constraint>_point", "", "point in the placed state, 3 numbers [m]; rigid bodies: also outside of them"),
  OWN("Constraint", "<constraint>_offset", "", "or from the mass centre of the placed body, 3 numbers [m]"),
  OWN("Constraint", "<constraint>_nodes", "", "or all nodes of a node set of the mesh"),
  OWN("Constraint", "<constraint>_side", "", "or all nodes of a side set (x_min, x_max, ... of generated boxes)"),
  OWN("Constraint", "<constraint>_direction", "", "direction of types direction, velocity and displacement, 3 numbers; its length does not matter"),
  OWN("Constraint", "<constraint>_value", "", "velocity [m/s], or displacement since the start [m]: number, expression of t (and of the placed x, y, z) or CSV file of t, value"),
  PETSC(0, "Constraint", "constraints_eliminate", "true", "constraints on one body are eliminated from the constraint problem instead of being rows of it"),

  OWN("Contact", "contact_enabled", "true if there are bodies to touch", "detect contacts between bodies"),
  PETSC('f', "Contact", "contact_friction", "0", "coefficient of friction; inf: no slip (100 where a body deforms)"),
  PETSC('r', "Contact", "contact_restitution", "0", "part of the approach velocity that comes back from an impact, 0 to 1"),
  PETSC('r', "Contact", "contact_cohesion", "0", "stress that faces which touch at the start can bear until they part [Pa]"),
  PETSC('s', "Contact", "contact_signorini", "gap", "gap: U + gap / dt >= 0 for whatever may touch in a step; velocity: U >= 0 for what touches"),
  PETSC('s', "Contact", "contact_theta", "safe", "safe: contact never adds energy; paper: laws hold for the velocity at the end of a step"),
  PETSC('s', "Contact", "contact_overlap", "keep", "bodies that overlap at the start: keep (a warning) or error"),
  PETSC('s', "Contact", "contact_points", "hull", "hull: corners of what two faces share (of deformable bodies: nodes of one side), all, or centroid: one for every two elements"),

  OWN("Contact", "contact_pairs", "", "names of laws of contact between particular bodies; each has a section of its name"),
  OWN("Contact", "<pair>_bodies", "", "two names or patterns of bodies, such as [brick*, floor]; later pairs win"),
  OWN("Contact", "<pair>_friction", "that of all", "coefficient of friction between them"),
  OWN("Contact", "<pair>_restitution", "that of all", "restitution"),
  OWN("Contact", "<pair>_cohesion", "that of all", "cohesion [Pa]"),
  OWN("Contact", "<pair>_exclude", "false", "they do not touch at all"),

  OWN("Output", "output_history", "", "CSV file of energies and probes"),
  OWN("Output", "output_exodus", "", "Exodus II file of the moving meshes"),
  OWN("Output", "output_reactions", "", "CSV file of the forces of constraints and their moments about their first points"),
  OWN("Output", "output_contacts", "", "XDMF file (and HDF5 file beside it) of contact points: force on the second body, normal, velocity, gap, state (0 open, 1 stick, 2 slip), area, bodies"),
  OWN("Output", "output_statistics", "", "CSV file of contacts by state and of what the solver did"),
  OWN("Output", "output_pairs", "", "CSV file of resultants of every two bodies that touch: force and moment on the second about its mass centre, centre of pressure"),
  OWN("Output", "output_fclib", "", "folder for the contact problems of steps (FCLib's HDF5 form)"),
  OWN("Output", "output_fclib_every", "1", "steps between these"),
  OWN("Output", "output_interval", "0", "model time between outputs (0: every step)"),
  OWN("Output", "output_digits", "10", "digits in the CSV file (17: exact)"),

  PETSC('s', "Time", "ts_type", "zhangskeel", "time scheme"),
  PETSC('r', "Time", "ts_dt", "", "step [s]"),
  PETSC('r', "Time", "ts_max_time", "", "end of the run [s]"),
  PETSC('i', "Time", "ts_max_steps", "", "end of the run in steps"),
  PETSC(0, "Time", "ts_monitor", "", "print every step"),
  PETSC(0, "Time", "ts_zhangskeel_implicit", "false", "iterate the step to the implicit solution"),
  PETSC('r', "Time", "ts_zhangskeel_rtol", "1e-12", "relative tolerance of these iterations"),
  PETSC('i', "Time", "ts_zhangskeel_max_it", "25", "most of these iterations"),
  PETSC(0, "Time", "log_view", "", "print times and flops of all phases at the end"),

  PETSC('s', "Constraint solver", "snes_type", "auto", "auto, nlgs, proxnewton, conic, newtonls, anderson, ngmres, ncg, nrichardson, qn; without friction also vinewtonssls, vinewtonrsls"),
  PETSC('r', "Constraint solver", "snes_rtol", "1e-8", "merit at which a solve ends"),
  PETSC('i', "Constraint solver", "snes_max_it", "", "most iterations: sweeps of nlgs (10000), Newton solves of auto and proxnewton (1000), steps of conic (200)"),
  PETSC(0, "Constraint solver", "snes_monitor", "", "print the merit of every iteration"),
  PETSC(0, "Constraint solver", "snes_converged_reason", "", "print why a solve ended"),
  PETSC('r', "Constraint solver", "snes_nlgs_relaxation", "1", "part of each block's step that nlgs takes"),
  PETSC('i', "Constraint solver", "snes_nlgs_every", "10", "sweeps of nlgs between looks at the merit"),
  PETSC(0, "Constraint solver", "snes_nlgs_symmetric", "false", "every other sweep of nlgs backwards"),
  PETSC('r', "Constraint solver", "snes_proxnewton_alpha", "3e-3", "first proximal parameter of proxnewton, as part of the diagonal of W"),
  PETSC('i', "Constraint solver", "snes_proxnewton_inner", "20", "most Newton steps of a proximal step"),
  PETSC(0, "Constraint solver", "snes_proxnewton_conic", "true", "help proxnewton by the interior-point method after a failure"),
  PETSC(0, "Constraint solver", "snes_conic_polish", "true", "last digits of conic by the proximal Newton method"),
  PETSC('s', "Constraint solver", "npc_snes_type", "", "nonlinear preconditioner of anderson, ngmres, ncg, nrichardson, qn: nlgs"),
  PETSC('s', "Constraint solver", "snes_npc_side", "", "side of it: left or right (anderson, ngmres, qn)"),
  PETSC('s', "Constraint solver", "dual_mat_type", "auto", "auto: by bodies, if all are rigid and contacts are many, else explicit; bodies: W = F F^T by the motions of bodies; explicit: W as blocks; free: by products only"),
  PETSC('s', "Constraint solver", "dual_ordering", "natural", "order of sweeps: natural, or coloring (the same iterates on any number of ranks, also of islands that are shared)"),
  PETSC('i', "Constraint solver", "dual_island_limit", "20000", "most coupled blocks that are solved on one rank"),
  PETSC(0, "Constraint solver", "dual_view", "", "print sizes and residuals after every solve"),

  PETSC('s', "Solves of a part", "part_ksp_type", "preonly", "any KSP; with any of -part_ksp_, -part_pc_, -part_mat_ PETSc solves with a part's operator, else CHOLMOD's factor and own solves do, which are faster"),
  PETSC('s', "Solves of a part", "part_pc_type", "cholesky", "any PC: cholesky, icc, jacobi, hypre, gamg, ..."),
  PETSC('s', "Solves of a part", "part_pc_factor_mat_solver_type", "petsc", "library that factors: petsc, cholmod, mumps, ..."),
  PETSC('r', "Solves of a part", "part_ksp_rtol", "1e-5", "relative tolerance of an iterative solve; 1e-10 or less keeps the accuracy of the scheme"),
  PETSC('s', "Solves of a part", "part_mat_type", "seqaij", "type of the matrix"),
  PETSC(0, "Solves of a part", "part_ksp_view", "", "print the solver after every solve"),

  PETSC('s', "Partition", "mat_partitioning_type", "", "how bodies are spread over the ranks"),

  OWN("Element", "element_simd", "auto", "vector instructions of the element kernels: auto, sse2, avx2 or avx512"),
};
/* clang-format on */
const PetscInt option_table_size = PETSC_STATIC_ARRAY_LENGTH(option_table);

const char *const option_petsc_prefixes[] = {
  "ts", "snes", "ksp", "pc", "mat", "vec", "is", "log", "npc", "sub", "eps", "st", "svd", "pep", "nep", "bv", "ds", "tao", "dm", "da", "sf",
  "part", "body", "dual", "contact", "constraints", "model", "options", "malloc", "on", "info", "help", "version", "viewer", "mg", "fieldsplit",
  "memory", "mpi", "citations", "random", "petscspace", "petscfe", "petscpartitioner", "section", "draw", "start", "stop", "debugger", "device",
  "cuda", "h", NULL};

const char *const option_nested_prefixes[] = {"part_", "npc_", "dual_", "sub_", NULL};

const char *const option_petsc_names[] = {
  "ts_type", "ts_dt", "ts_init_time", "ts_max_time", "ts_max_steps", "ts_monitor", "ts_view", "ts_converged_reason", "ts_adapt_type",
  "ts_adapt_dt_min", "ts_adapt_dt_max", "ts_adapt_monitor", "ts_exact_final_time", "ts_rtol", "ts_atol", "ts_theta_theta", "ts_alpha_radius",
  "ts_max_snes_failures", "ts_max_reject", "ts_monitor_frequency",
  "snes_type", "snes_rtol", "snes_atol", "snes_stol", "snes_max_it", "snes_max_funcs", "snes_monitor", "snes_view", "snes_converged_reason",
  "snes_linesearch_type", "snes_linesearch_max_it", "snes_linesearch_monitor", "snes_linesearch_damping", "snes_npc_side",
  "snes_anderson_m", "snes_anderson_beta", "snes_ngmres_m", "snes_qn_m", "snes_force_iteration", "snes_lag_jacobian", "snes_mf",
  "snes_lag_preconditioner", "snes_ksp_ew", "snes_max_linear_solve_fail", "snes_error_if_not_converged", "snes_test_jacobian",
  "ksp_type", "ksp_rtol", "ksp_atol", "ksp_divtol", "ksp_max_it", "ksp_monitor", "ksp_monitor_true_residual", "ksp_view",
  "ksp_converged_reason", "ksp_gmres_restart", "ksp_pc_side", "ksp_norm_type", "ksp_initial_guess_nonzero", "ksp_error_if_not_converged",
  "pc_type", "pc_side", "pc_factor_mat_solver_type", "pc_factor_mat_ordering_type", "pc_factor_levels", "pc_factor_shift_type",
  "pc_hypre_type", "pc_jacobi_type", "pc_bjacobi_blocks", "pc_asm_overlap", "pc_gamg_type", "pc_mg_levels", "pc_view",
  "mat_type", "mat_view", "mat_no_inode", "mat_partitioning_type", "mat_partitioning_view", "mat_mumps_icntl_14", "mat_mumps_icntl_24",
  "mat_coloring_type", "vec_type", "vec_view", "eps_type", "eps_nev", "eps_tol", "eps_max_it", "eps_target", "eps_monitor", "eps_view", "st_type",
  "st_shift", "st_ksp_type", "st_pc_type", "svd_type", "svd_nsv", "svd_tol", "log_view", "log_trace", "options_view", "options_left", "malloc_debug",
  "malloc_dump", "memory_view", "fp_trap", "info", "version", "citations", NULL};

const char *const option_petsc_late[] = {
  "log_view", "log_view_memory", "log_view_gpu_time", "log_all", "log", "log_trace", "log_exclude", "log_sync", "log_mpe", "log_perfstubs",
  "malloc", "malloc_debug", "malloc_dump", "malloc_view", "malloc_view_threshold", "malloc_test", "malloc_hbw", "malloc_coalesce",
  "malloc_requested_size", "memory_view", "options_left", "options_view", "options_monitor", "options_monitor_cancel", "on_error_abort",
  "on_error_attach_debugger", "on_error_mpiabort", "on_error_emacs", "error_output_stdout", "error_output_none", "fp_trap", "info", "info_exclude",
  "start_in_debugger", "stop_for_debugger", "debugger_nodes", "debugger_ranks", "debugger_pause", "skip_petscrc", "nox", "nox_warning",
  "no_signal_handler", "viewfromoptions", "display", "get_total_flops", "history", "objects_dump", "citations", "checkstack", "version",
  "mpi_return_on_error", "mpi_linear_solver_server", "use_gpu_aware_mpi", "shared_tmp", "not_shared_tmp", "tmp", "petsc_ci", NULL};

PetscErrorCode SettingsPrintHelp(MPI_Comm comm)
{
  int width = 0;

  PetscFunctionBeginUser;
  for (PetscInt i = 0; i < option_table_size; i++) width = PetscMax(width, (int)strlen(option_table[i].name));
  PetscCall(PetscPrintf(comm, "Options, in a file as a: {b: c} or on the command line as -a_b c (the command line wins).\n"
                              "<body> is a body's name, its part's name or 'body' (for all); <force>, <probe>, ... are names from the model's lists.\n"));
  for (PetscInt i = 0; i < option_table_size; i++) {
    const Option *o = &option_table[i];

    if (!i || strcmp(o->group, option_table[i - 1].group)) PetscCall(PetscPrintf(comm, "\n%s%s\n", o->group, o->petsc ? " (PETSc)" : ""));
    PetscCall(PetscPrintf(comm, "  -%-*s  %s%s%s%s\n", width, o->name, o->meaning, o->def[0] ? " (" : "", o->def, o->def[0] ? ")" : ""));
  }
  PetscCall(PetscPrintf(comm, "\nAll options of PETSc's TS, SNES, KSP, PC, Mat and Vec can be given too.\n"));
  PetscFunctionReturn(0);
}
