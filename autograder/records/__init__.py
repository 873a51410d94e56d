"""What everybody passes on, as frozen data: runs and what they counted, hazards, accesses, results and their JSON.

It imports nothing of the kit but `errors`; everybody may import it.
"""
