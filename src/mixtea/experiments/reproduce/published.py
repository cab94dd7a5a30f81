"""Figures from the literature, to compare with measured ones.

All are from Xie et al., MixTEA (Findings of EMNLP 2023): its Table 1 (methods), Table 2 (ablation) and the table of its
appendix (data). SOURCES names the origin of the other methods' figures in that paper.
"""

from __future__ import annotations

TASKS = ("EN_FR_15K_V1", "EN_DE_15K_V1", "D_W_15K_V1", "D_Y_15K_V1")
METRICS = ("hits@1", "hits@5", "mrr")

# entities, relations, triples of the source and of the target graph
DATA = {
    "EN_FR_15K_V1": ((15_000, 267, 47_334), (15_000, 210, 40_864)),
    "EN_DE_15K_V1": ((15_000, 215, 47_676), (15_000, 131, 50_419)),
    "D_W_15K_V1": ((15_000, 248, 38_265), (15_000, 169, 42_746)),
    "D_Y_15K_V1": ((15_000, 165, 30_292), (15_000, 28, 26_638)),
}

SOURCES = {
    "Sun et al. (2020), the OpenEA study": ("MTransE", "GCN-Align", "IPTransE", "SEA", "KDCoE", "BootEA"),
    "Xin et al. (2022), the IMEA paper": ("AliNet", "KE-GCN", "IMEA"),
    "their own runs of the released code": ("MRAEA", "RANM on EN_FR"),
    "the method's own paper": ("RANM on EN_DE", "GAEA"),
}


def _by_task(*thousandths: int | None) -> dict[str, tuple[float, float, float]]:
    """Map tasks to (Hit@1, Hit@5, MRR), from thousandths in the order of TASKS; leave out unpublished ones (None)."""
    values = [None if v is None else v / 1000 for v in thousandths]
    threes = {task: values[3 * i : 3 * i + 3] for i, task in enumerate(TASKS)}
    return {task: (a, b, c) for task, (a, b, c) in threes.items() if a is not None and b is not None and c is not None}


_NONE = (None,) * 6
MAIN = {
    "MTransE": _by_task(247, 467, 351, 307, 518, 407, 259, 461, 354, 463, 675, 559),
    "GCN-Align": _by_task(338, 589, 451, 481, 679, 571, 364, 580, 461, 465, 626, 536),
    "AliNet": _by_task(364, 597, 467, 604, 759, 673, 440, 628, 522, 559, 690, 617),
    "KE-GCN": _by_task(408, 670, 524, 658, 822, 730, 519, 727, 608, 560, 750, 644),
    "IMEA": _by_task(458, 720, 574, 639, 827, 724, 527, 753, 626, 639, 804, 712),
    "IPTransE": _by_task(169, 320, 243, 350, 515, 430, 232, 380, 303, 313, 456, 378),
    "SEA": _by_task(280, 530, 397, 530, 718, 617, 360, 572, 458, 500, 706, 591),
    "KDCoE": _by_task(581, 680, 628, 529, 629, 580, 247, 412, 325, 661, 764, 710),
    "BootEA": _by_task(507, 718, 603, 675, 820, 740, 572, 744, 649, 739, 849, 788),
    "MRAEA": _by_task(537, 779, 642, 681, 844, 754, 574, 772, 661, 725, 838, 769),
    "RANM": _by_task(567, 780, 663, 686, 835, 751, *_NONE),
    "GAEA": _by_task(486, 746, 602, 684, 854, 760, 562, 768, 654, 608, 791, 688),
    "MixTEA": _by_task(582, 807, 680, 724, 877, 797, 647, 832, 731, 748, 871, 802),
}

ABLATION = {
    "without relations": _by_task(471, 732, 586, 679, 839, 749, 552, 756, 641, 700, 841, 761),
    "without L_u": _by_task(485, 716, 589, 671, 836, 744, 520, 708, 605, 541, 684, 605),
    "without BDV": _by_task(556, 781, 656, 707, 863, 777, 629, 812, 709, 725, 856, 783),
    "without MDR": _by_task(560, 791, 663, 711, 863, 779, 635, 822, 718, 731, 862, 788),
    "without BDV and MDR": _by_task(542, 771, 644, 694, 857, 766, 609, 802, 693, 712, 849, 774),
    "complete": MAIN["MixTEA"],
}
