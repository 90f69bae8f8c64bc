print("backstitch")
