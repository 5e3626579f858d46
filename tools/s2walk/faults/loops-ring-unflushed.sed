# Resetting dirty rings does not flush the TLBs
s/^\tif (cleared)$/\tif (cleared < 0)/
