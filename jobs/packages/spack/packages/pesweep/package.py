# Untested here: written after Spack's documentation, not yet run.
#
#   spack repo add jobs/packages/spack && spack install pesweep
#   spack -e jobs/packages/spack install          the environment: pesweep with what the analysis and Python need
from spack.package import *


class Pesweep(CMakePackage):
    """Sweeps and ablations of small transformers, analysed spectrally, in one HDF5 file."""

    license("BSD-3-Clause")
    version("main", branch="main", git="file://" + join_path(ancestor(__file__, 5)))

    variant("double", default=False, description="train in double precision")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("mpi@3.1:")
    depends_on("hdf5@1.10:+mpi+hl")
    depends_on("openblas threads=openmp")
    depends_on("libyaml")
    depends_on("xxhash")
    depends_on("jansson")
    depends_on("random123", type="build")
    depends_on("gnuplot", type="run")

    generator("ninja")

    def cmake_args(self):
        return [self.define("PES_TESTS", False), self.define_from_variant("PES_DOUBLE", "double")]
