"""Physics: native CPU simulation for mjlab, and the choice between it and Warp."""

import mjlab  # noqa: F401 - Must be first, see solo.envs.

from solo.sim.native import NativeSimulation, SoloSimulationCfg, use_native

__all__ = ["NativeSimulation", "SoloSimulationCfg", "use_native"]
