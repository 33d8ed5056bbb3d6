"""The paper's numbers, as printed, with the label of what each comes from.

Only what its text and tables state: figures whose values are not written out have none
here. Terrains have our names; methods have the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass

SOURCES = {
    "fig:highest-difficulty-success": "success at the highest difficulty (figure)",
    "tab:recon": "on-policy height-map reconstruction error (table)",
    "fig:recon-and-foothold-quality": "reconstruction and foothold quality (figure)",
    "fig:distill-curve": "curriculum progress (figure)",
    "tab:reduced-compute-tamse": "three-seed TA-MSE ablation (appendix table)",
    "tab:offline-recon": "matched offline reconstruction comparison (appendix table)",
    "fig:height-map-qualitative": "qualitative height maps (appendix figure)",
    "tab:real-success": "isolated-terrain success on hardware (table)",
    "fig:indoor-mixed-deployment": "indoor mixed-terrain course (figure)",
    "fig:stable_outdoor_perceptive_locomotion": "outdoor route (figure)",
    "app:compute": "training budget and onboard runtime (appendix)",
    "tab:training-budget": "training budget (appendix table)",
}
"""Label in the paper to what it labels."""

METHODS = ("QR", "START", "DPL")
"""Reconstructors that the paper compares; QR is its own."""

TERRAINS = {
    "gap": "Gap",
    "random_grid": "Random Grid",
    "stairs_down_25": "Down-25",
    "stairs_down_35": "Down-35",
    "stairs_up_25": "Up-25",
    "stairs_up_35": "Up-35",
    "stones_aligned": "Step Stones",
    "high_plane": "High Plane",
}
"""Terrain of the stress test to the paper's name of it, in the paper's order."""


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation as a table of the paper has them."""

    mean: float
    std: float


@dataclass(frozen=True)
class ProtocolScale:
    """How much the paper ran; None where it does not say."""

    rollouts: int | None = None
    difficulties: tuple[float, ...] = ()
    num_terrains: int | None = None
    num_levels: int | None = None
    num_seeds: int | None = None
    time_s: float | None = None
    pass_m: float | None = None


SCALES = {
    "stress": ProtocolScale(100, (0.99,), 8, None, None, 30.0, 5.0),
    "levels": ProtocolScale(64, (), 17, 10, 3),
    "extent": ProtocolScale(100, (), 1),
    "isolated": ProtocolScale(10, (1.0,), 7),
    "course": ProtocolScale(None, (1.0,)),
    "route": ProtocolScale(None, (1.0,)),
}
"""Protocol to its scale (appendix "Evaluation Protocols", tab:real-success).

That "levels" has all 17 terrains is our reading of "terrain levels"; the difficulty of
the last three is the scale of the obstacles, 1 for the sizes that the paper gives."""

# Figure fig:highest-difficulty-success; values from the text of section "Locomotion on
# Highest-Difficulty Terrain". Percent. It gives START's and DPL's mean as one range
# without saying which is which.
STRESS_STONES = {"QR": 96.0, "START": 3.0, "DPL": 0.0}
STRESS_MEAN = {"QR": "97.5", "START, DPL": "75.0–75.6"}
STRESS_WORST = {"QR": "92", "START, DPL": "0–3"}

# Table tab:recon, cm; columns in the order of `TERRAINS`, then the average.
_RECON_ROWS = {
    "START": (10.11, 5.18, 8.35, 5.32, 8.10, 5.54, 14.76, 3.31, 7.59),
    "DPL": (10.62, 8.09, 11.74, 7.47, 10.68, 7.57, 12.75, 5.16, 9.26),
    "QR": (2.27, 2.43, 2.03, 1.47, 1.89, 1.31, 5.92, 0.97, 2.29),
}
RECON_L1_CM = {
    method: dict(zip(TERRAINS, row, strict=False))
    for method, row in _RECON_ROWS.items()
}
RECON_L1_MEAN_CM = {method: row[-1] for method, row in _RECON_ROWS.items()}

# Figure fig:recon-and-foothold-quality A; text of section "Reconstruction Accuracy".
EXTENT_DIFFICULTY = 0.99
EXTENT_L1_CM = {"QR": (2.0, 4.3), "DPL": (11.7, 27.1), "START": (8.4, 26.4)}
"""Error at 0.99 on scenes of 8 m and of 10 m."""

# Figure fig:recon-and-foothold-quality B; text of section "Locomotion on
# Highest-Difficulty Terrain". Multiples of QR's penalty.
STUMBLE_RATIO = {
    "START": {"stairs_down_35": 7.37, "stairs_up_35": 7.40},
    "DPL": {"stairs_down_35": 10.08, "stairs_up_35": 10.83},
}
PENALTY_RATIO_RANGE = {"START": (1.78, 7.40), "DPL": (1.94, 10.83)}
"""Over both penalties and the four stairs."""

# Figure fig:distill-curve; text of section "Distillation Curriculum Progress".
CURRICULUM = {"TA-MSE": "about 5.5", "MSE+PPO": "around 5.1", "PPO": "below 5.0"}
CURRICULUM_CEILING = 5.5
CURRICULUM_ITERATIONS = 20_000  # tab:training-budget, privileged distillation.

# Table tab:reduced-compute-tamse: percent, and percentage points for the difference.
ABLATION_COLUMNS = ("easy", "medium", "hard", "Up-25", "Down-25", "Rough", "Stones")
_ABLATION_ROWS = {
    "MSE+PPO": ((99.23, 0.27), (98.23, 0.26), (97.14, 0.67), (97.92, 3.61),
                (100.00, 0.00), (96.35, 1.80), (72.66, 5.12)),
    "TA-MSE": ((99.24, 0.15), (98.39, 0.15), (97.45, 0.31), (98.96, 0.90),
               (97.92, 3.61), (96.88, 3.13), (79.43, 5.97)),
    "difference": ((0.02, 0.40), (0.15, 0.40), (0.31, 0.66), (1.04, 3.25),
                   (-2.08, 3.61), (0.52, 3.61), (6.77, 5.86)),
}  # fmt: skip
ABLATION = {
    method: {
        column: Spread(*pair)
        for column, pair in zip(ABLATION_COLUMNS, row, strict=True)
    }
    for method, row in _ABLATION_ROWS.items()
}
ABLATION_TERRAINS = {
    "stairs_up_25": "Up-25",
    "stairs_down_25": "Down-25",
    "rough_coarse": "Rough",
    "rough_fine": "Rough",
    "stones_aligned": "Stones",
    "stones_staggered": "Stones",
}
"""Terrain of level 9 to its column. The paper does not say which rough ground it
means. Its stones are both variants together: 79.43 % of three times 64 is no whole
number of episodes, of three times 128 it is."""

# Table tab:offline-recon: cm, but for F1. Parameters in millions.
OFFLINE_COLUMNS = (
    "l1_cm", "hard_l1_cm", "edge_f1",
    "stairs_down_25", "stairs_up_25", "stones", "rough",
)  # fmt: skip
_OFFLINE_ROWS = {
    "QR": ((2.98, 0.07), (3.93, 0.07), (0.386, 0.008), (5.25, 0.89), (4.91, 0.68),
           (10.41, 1.80), (3.70, 0.21)),
    "START": ((4.32, 0.13), (5.62, 0.15), (0.242, 0.004), (8.91, 2.18), (6.78, 0.59),
              (12.87, 1.97), (4.77, 0.29)),
    "DPL": ((4.36, 0.10), (5.57, 0.11), (0.214, 0.004), (7.88, 1.92), (6.64, 0.76),
            (13.11, 2.55), (4.71, 0.22)),
}  # fmt: skip
OFFLINE = {
    method: {
        column: Spread(*pair) for column, pair in zip(OFFLINE_COLUMNS, row, strict=True)
    }
    for method, row in _OFFLINE_ROWS.items()
}
OFFLINE_PARAMETERS_M = {"QR": 0.54, "START": 0.62, "DPL": 0.78}
OFFLINE_FRAMES = 249_000
OFFLINE_UPDATES = 15_000
OFFLINE_SETS = 5

# Table tab:real-success: successes of ten trials on hardware.
ISOLATED_TRIALS = 10
ISOLATED = {
    "stairs_up": ("Ascending stairs", 10),
    "stairs_down": ("Descending stairs", 10),
    "slope": ("Slope (20°)", 10),
    "platform": ("High platform (40 cm)", 10),
    "gap": ("Gap (50 cm)", 10),
    "movable_obstacle": ("Movable obstacle", 10),
    "stones": ("Stepping stones", 9),
}
ISOLATED_TOTAL = (69, 70)

# Figures fig:stable_outdoor_perceptive_locomotion and fig:indoor-mixed-deployment: one
# run each on hardware, without resets or assistance.
ROUTE_KM = 1.5

# Appendix app:compute: Jetson AGX Thor, 1000 batch-1 TensorRT inferences.
RUNTIME_MS = Spread(1.03, 0.21)
RUNTIME_P95_MS = 1.59
PIPELINE_MS = Spread(1.15, 0.23)
ENGINE_MB = 7.56
RUNTIME_STEPS = 1000
