/// A condition made ready to be evaluated on the encoded rows of one store.
package struct BoundCondition: Sendable {
    /// A test of one row.
    typealias Test = @Sendable (RowBytes) throws -> Bool

    private let test: Test

    /// Makes a condition ready for an entity of a store.
    ///
    /// - Throws: ``QueryError`` for unknown attributes and values of other types than theirs.
    package init(_ condition: Condition, in entity: EntityBinding) throws {
        let condition = try condition.simplified().resolved(in: entity)
        test = try Self.test(for: condition.simplified(), in: entity)
    }

    /// Whether the condition holds for a row.
    ///
    /// - Throws: ``QueryError`` for `!` on nil and arithmetic overflow, `FieldError` for damage.
    @inline(__always)
    package func holds(for row: RowBytes) throws -> Bool { try test(row) }

    static func test(for condition: Condition, in entity: EntityBinding) throws -> Test {
        switch condition {
        case .constant(let truth): return { _ in truth }
        case .all(let parts):
            let tests = try parts.map { try test(for: $0, in: entity) }
            guard tests.count == 2 else {
                return { row in
                    for test in tests where try !test(row) { return false }
                    return true
                }
            }
            let (first, second) = (tests[0], tests[1])
            return { try first($0) && second($0) }
        case .any(let parts):
            let tests = try parts.map { try test(for: $0, in: entity) }
            return { row in
                for test in tests where try test(row) { return true }
                return false
            }
        case .not(let inner):
            let test = try test(for: inner, in: entity)
            return { try !test($0) }
        case .conditional(let test, let yes, let no):
            let test = try self.test(for: test, in: entity)
            let yes = try self.test(for: yes, in: entity)
            let no = try self.test(for: no, in: entity)
            return { try test($0) ? yes($0) : no($0) }
        case .isNull(.attribute(let name)):
            return nullTest(try entity.attribute(named: name))
        case .comparison(.attribute(let name), let comparison, .constant(let value)):
            return comparisonTest(try entity.attribute(named: name), comparison, value)
        case .comparison(.recordKey, let comparison, .constant(.reference(let key))):
            let bytes = key.bytes
            return { row in
                bytes.withUnsafeBytes { comparison.holds(row.key.order($0), 0) }
            }
        case .contains(.attribute(let name), .constant(let element))
        where try entity.attribute(named: name).type.element != nil:
            return elementTest(try entity.attribute(named: name), element)
        case .contains(.attribute(let name), .constant(.string(let part))):
            return containsTest(try entity.attribute(named: name), TextConstant(part))
        case .prefix(.attribute(let name), .constant(.string(let part))):
            return prefixTest(try entity.attribute(named: name), TextConstant(part))
        case .membership(.attribute(let name), let values):
            return membershipTest(try entity.attribute(named: name), values)
        case .membership(.recordKey, let values):
            let keys = SortedBytes(
                values.compactMap { if case .reference(let key) = $0 { key.bytes } else { nil } })
            return { keys.contains($0.key) }
        case .comparison, .contains, .prefix, .membership, .isNull, .test:
            return try generalTest(for: condition, in: entity)
        }
    }
}
