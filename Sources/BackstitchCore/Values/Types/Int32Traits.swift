/// `Int32`.
enum Int32Traits: WholeNumberTraits {
    static let type = AttributeType.int32
    static func isInRange(_ number: Int64) -> Bool { Int32(exactly: number) != nil }
}
