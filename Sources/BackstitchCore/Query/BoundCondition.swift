/// A condition made ready to be evaluated on the encoded rows of one store.
package struct BoundCondition: Sendable {
    /// A test of one row.
    typealias Test = @Sendable (RowBytes) throws -> Bool

    private let program: ConditionProgram
    private let first: Int32
    /// Whether rows have to come with a context.
    let needsContext: Bool

    /// Makes a condition ready for an entity of a store.
    ///
    /// - Throws: ``QueryError`` for unknown attributes and values of other types than theirs.
    package init(_ condition: Condition, in entity: EntityBinding) throws {
        try condition.checkDepth()
        let condition = try condition.simplified().resolved(in: entity)
        try self.init(resolved: condition.simplified(), in: entity)
    }

    private init(resolved condition: Condition, in entity: EntityBinding) throws {
        var builder = ConditionBuilder(entity: entity)
        needsContext = condition.needsContext
        first = try builder.add(
            condition, onTrue: ConditionStep.accept, onFalse: ConditionStep.reject)
        program = ConditionProgram(builder)
    }

    /// Runs `body` with what evaluates the condition on many rows; it is valid inside only.
    ///
    /// `holds` of the runner throws ``QueryError`` for `!` on nil and arithmetic overflow,
    /// `FieldError` for damage.
    func withRunner<Result>(_ body: (ConditionRunner) throws -> Result) rethrows -> Result {
        try withExtendedLifetime(program) {
            try unsafe body(ConditionRunner(program, first: first))
        }
    }

    /// Whether the condition holds for a row.
    ///
    /// - Throws: ``QueryError`` for `!` on nil and arithmetic overflow, `FieldError` for damage.
    package func holds(for row: RowBytes) throws -> Bool {
        try withRunner { try $0.holds(for: row) }
    }

    /// The test of a part of an operand.
    static func test(for condition: Condition, in entity: EntityBinding) throws -> Test {
        let bound = try BoundCondition(resolved: condition, in: entity)
        return { try bound.holds(for: $0) }
    }
}
