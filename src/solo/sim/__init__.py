"""Physics: native CPU simulation for mjlab, and the choice between it and Warp."""

from solo.sim.native import NativeSimulation, SoloSimulationCfg, use_native

__all__ = ["NativeSimulation", "SoloSimulationCfg", "use_native"]
