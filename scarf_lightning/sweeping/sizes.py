"""The rows and columns of the datasets of OpenML-CC18 that the paper uses, so that a plan needs no download.

A version of a dataset on OpenML never changes, so its size is a fact. Columns are features: neither the target nor the
columns that OpenML ignores. Source: the lists of OpenML's study 99 (Bischl et al. 2021, arXiv:1708.03731).
"""

from typing import NamedTuple


class Size(NamedTuple):
    """The size of a table: its rows and its columns that are features."""

    n_rows: int
    n_columns: int


CC18 = {
    3: Size(3_196, 36),  # kr-vs-kp
    6: Size(20_000, 16),  # letter
    11: Size(625, 4),  # balance-scale
    12: Size(2_000, 216),  # mfeat-factors
    14: Size(2_000, 76),  # mfeat-fourier
    15: Size(699, 9),  # breast-w
    16: Size(2_000, 64),  # mfeat-karhunen
    18: Size(2_000, 6),  # mfeat-morphological
    22: Size(2_000, 47),  # mfeat-zernike
    23: Size(1_473, 9),  # cmc
    28: Size(5_620, 64),  # optdigits
    29: Size(690, 15),  # credit-approval
    31: Size(1_000, 20),  # credit-g
    32: Size(10_992, 16),  # pendigits
    37: Size(768, 8),  # diabetes
    38: Size(3_772, 29),  # sick
    44: Size(4_601, 57),  # spambase
    46: Size(3_190, 60),  # splice
    50: Size(958, 9),  # tic-tac-toe
    54: Size(846, 18),  # vehicle
    151: Size(45_312, 8),  # electricity
    182: Size(6_430, 36),  # satimage
    188: Size(736, 19),  # eucalyptus
    300: Size(7_797, 617),  # isolet
    307: Size(990, 12),  # vowel
    458: Size(841, 70),  # analcatdata_authorship
    469: Size(797, 4),  # analcatdata_dmft
    1049: Size(1_458, 37),  # pc4
    1050: Size(1_563, 37),  # pc3
    1053: Size(10_885, 21),  # jm1
    1063: Size(522, 21),  # kc2
    1067: Size(2_109, 21),  # kc1
    1068: Size(1_109, 21),  # pc1
    1461: Size(45_211, 16),  # bank-marketing
    1462: Size(1_372, 4),  # banknote-authentication
    1464: Size(748, 4),  # blood-transfusion-service-center
    1468: Size(1_080, 856),  # cnae-9
    1475: Size(6_118, 51),  # first-order-theorem-proving
    1478: Size(10_299, 561),  # har
    1480: Size(583, 10),  # ilpd
    1485: Size(2_600, 500),  # madelon
    1486: Size(34_465, 118),  # nomao
    1487: Size(2_534, 72),  # ozone-level-8hr
    1489: Size(5_404, 5),  # phoneme
    1494: Size(1_055, 41),  # qsar-biodeg
    1497: Size(5_456, 24),  # wall-robot-navigation
    1501: Size(1_593, 256),  # semeion
    1510: Size(569, 30),  # wdbc
    1590: Size(48_842, 14),  # adult
    4134: Size(3_751, 1_776),  # Bioresponse
    4534: Size(11_055, 30),  # PhishingWebsites
    4538: Size(9_873, 32),  # GesturePhaseSegmentationProcessed
    6332: Size(540, 37),  # cylinder-bands
    23381: Size(500, 12),  # dresses-sales
    23517: Size(96_320, 21),  # numerai28.6
    40499: Size(5_500, 40),  # texture
    40668: Size(67_557, 42),  # connect-4
    40670: Size(3_186, 180),  # dna
    40701: Size(5_000, 20),  # churn
    40923: Size(92_000, 1_024),  # Devnagari-Script
    40966: Size(1_080, 77),  # MiceProtein
    40975: Size(1_728, 6),  # car
    40978: Size(3_279, 1_558),  # Internet-Advertisements
    40979: Size(2_000, 240),  # mfeat-pixel
    40982: Size(1_941, 27),  # steel-plates-fault
    40983: Size(4_839, 5),  # wilt
    40984: Size(2_310, 19),  # segment
    40994: Size(540, 18),  # climate-model-simulation-crashes
    41027: Size(44_819, 6),  # jungle_chess_2pcs_raw_endgame_complete
}
"""By the number of the dataset on OpenML."""
