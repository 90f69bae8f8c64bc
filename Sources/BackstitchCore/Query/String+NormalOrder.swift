@_spi(_Unicode) import Swift

extension Comparison {
    /// Whether the comparison holds between two texts: by canonical equivalence, in the order of
    /// the scalars of normal form C, as keys have it.
    ///
    /// That is what Swift documents for `String`. Its `<` is not asked, because it is wrong if
    /// one text in another form is the start of the other: U+212A, which equals "K", comes after
    /// "Ka" for it.
    func holds(_ left: String, _ right: String) -> Bool {
        switch self {
        case .equal: left == right
        case .notEqual: left != right
        case .less: left.precedesInNormalForm(right)
        case .lessOrEqual: !right.precedesInNormalForm(left)
        case .greater: right.precedesInNormalForm(left)
        case .greaterOrEqual: !left.precedesInNormalForm(right)
        }
    }
}

extension String {
    /// Whether the text comes before another in the order of the scalars of normal form C.
    package func precedesInNormalForm(_ other: String) -> Bool {
        _nfc.lexicographicallyPrecedes(other._nfc)
    }
}
