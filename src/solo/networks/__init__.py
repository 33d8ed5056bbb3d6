"""Networks of the policies: map encoder, teacher, critic, student.

They plug into rsl_rl by name, e.g. ``class_name="solo.networks.ame_model:AmeModel"``.
"""
