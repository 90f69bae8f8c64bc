/// A conflict that only the application can settle.
package struct ConflictQuestion: Equatable, Sendable {
    /// The version that both sides started from; nil if the record did not exist.
    package var base: Fields?
    /// The local version; nil if the record was deleted here.
    package var local: Fields?
    /// The service's version; nil if the record was deleted there.
    package var server: Fields?
    /// The fields that both sides changed to different values, and that have no rule of their own.
    package var contested: Set<FieldID> = []
    /// The clock of the last local operation, milliseconds since 1970.
    package var localMilliseconds: Int64
    /// When the service's version was saved, milliseconds since 1970; nil for a deleted record.
    package var serverMilliseconds: Int64?
}

/// What becomes of a conflict.
package enum ConflictAnswer: Equatable, Sendable {
    case server
    case client
    /// These values are laid over the service's version, or over the local one if the service
    /// has none. Of an answer to a merge, only those of contested fields count.
    case fields(Fields)
    case keepBoth
    case park(reason: String)
}

/// Which conflict an answer is to: the two versions that met.
package struct ConflictKey: Hashable, Sendable {
    package var entity: EntityNumber
    package var record: RecordKey
    /// The change tag of the service's version; empty if the record was deleted there.
    package var changeTag: String
    /// The last local operation.
    package var localSequence: UInt64

    package init(
        entity: EntityNumber, record: RecordKey, changeTag: String, localSequence: UInt64
    ) {
        self.entity = entity
        self.record = record
        self.changeTag = changeTag
        self.localSequence = localSequence
    }
}

/// What merges go by: the rules, and what the application answered so far.
package struct ConflictSettings: Sendable {
    package var rules: ConflictRules
    package var answers: [ConflictKey: ConflictAnswer] = [:]
    /// The answer to what was not asked; nil leaves that undecided.
    package var lastAnswer: ConflictAnswer?

    package init(_ rules: ConflictRules) { self.rules = rules }

    package static let serverWins = ConflictSettings(ConflictRules(.serverWins))
    package static let clientWins = ConflictSettings(ConflictRules(.clientWins))
}
