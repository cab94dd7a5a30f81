"""Words that the command, the report and the tables share."""

METRICS = {"hits@1": "Hit@1", "hits@5": "Hit@5", "hits@10": "Hit@10", "mrr": "MRR"}
DECODED = {"student": "the student alone", "agreement": "student and neighbour agreement", "all": "all voters"}
