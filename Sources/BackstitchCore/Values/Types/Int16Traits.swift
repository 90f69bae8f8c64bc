/// `Int16`.
enum Int16Traits: WholeNumberTraits {
    static let type = AttributeType.int16
    static func isInRange(_ number: Int64) -> Bool { Int16(exactly: number) != nil }
}
