"""What the tests of the three anonymisation criteria share: rates with a control, and nearest released records.

The Article 29 Working Party (Opinion 05/2014, WP216) asks of a release whether people can be singled out, linked or inferred
about. An attack says little by itself: who has not taken part can be inferred about as well. So every attack is repeated
against a **control**, here the same people with their own record taken out of the release, and the risk is what is left.
"""
