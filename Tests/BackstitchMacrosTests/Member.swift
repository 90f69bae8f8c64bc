/// The expansion of an entity that has an identity and one more member, which starts at 3:5.
struct Member {
    private static let prefix = "@Entity struct Model {\n    var id = ID()\n    "
    private static let suffix = "\n}"

    let expansion: Expansion

    init(_ member: String) {
        expansion = Expansion(Self.prefix + member + Self.suffix)
    }

    /// What was reported, each as `line:column message`.
    var reports: [String] { expansion.reports }

    /// What each fix-it makes of the member, by the fix-it's title.
    var fixes: [String: String] {
        expansion.fixes.mapValues {
            String($0.dropFirst(Self.prefix.count).dropLast(Self.suffix.count))
        }
    }
}
