/// How texts are compared.
public enum TextComparison: String, Hashable, Sendable, CaseIterable {
    /// As Swift's strings: by canonical equivalence, in the order of their scalars.
    case exact
    /// Without case and accents: "Ångström" is "angstrom". Letters with a stroke, ligatures and marks that make
    /// another letter count, and no language has rules of its own.
    ///
    /// By names it is written `fold(name)`. An index answers it that an entity declares by
    /// ``EntityIndex/Part/insensitive(_:)``.
    case insensitive
}

extension TextComparison {
    /// The name of an attribute as it is compared.
    package func name(of attribute: String) -> String {
        self == .exact ? attribute : Derivation.folded.name(of: attribute)
    }
}
