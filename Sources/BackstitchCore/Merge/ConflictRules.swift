/// Who wins when one side edited a record that the other one deleted.
public enum DeletePolicy: String, Hashable, Sendable, CaseIterable, Codable {
    /// What the conflict policy says.
    case followPolicy
    /// The record is deleted, whoever did it.
    case deleteWins
    /// The edited record stays, or comes back.
    case editWins
}

/// Who wins if both sides changed one field to different values.
public enum FieldConflictPolicy: String, Hashable, Sendable, CaseIterable, Codable {
    /// The service's value.
    case serverWins
    /// The local value.
    case clientWins
    /// The value of the version that was made later; see ``ConflictPolicy/lastWriterWins``.
    case lastWriterWins
}

/// What holds for one entity.
public struct EntityConflictRules: Hashable, Sendable {
    /// Who wins; nil for what holds for the store.
    public var policy: ConflictPolicy?
    /// Who wins between a delete and an edit; nil for what holds for the store.
    public var deletePolicy: DeletePolicy?
    /// Who wins in a field, by attribute name, if the policy is a merge.
    public var fields: [String: FieldConflictPolicy]

    /// Rules that differ from the store's if they say something.
    public init(
        policy: ConflictPolicy? = nil, deletePolicy: DeletePolicy? = nil,
        fields: [String: FieldConflictPolicy] = [:]
    ) {
        self.policy = policy
        self.deletePolicy = deletePolicy
        self.fields = fields
    }
}

/// Who wins, for a whole store.
public struct ConflictRules: Hashable, Sendable {
    /// Who wins if the entity has no rule of its own.
    public var policy: ConflictPolicy
    /// Who wins between a delete and an edit if the entity has no rule of its own.
    public var deletePolicy: DeletePolicy
    /// What differs, by the name of the entity.
    public var entities: [String: EntityConflictRules]

    /// Rules for all entities, and what differs for some.
    public init(
        _ policy: ConflictPolicy = .serverWins, deletePolicy: DeletePolicy = .followPolicy,
        entities: [String: EntityConflictRules] = [:]
    ) {
        self.policy = policy
        self.deletePolicy = deletePolicy
        self.entities = entities
    }

    /// What holds for the records of a table.
    package func merging(_ table: EntityTable) -> MergeRules {
        let own = entities[table.name]
        var rules = MergeRules(
            own?.policy ?? policy, deletePolicy: own?.deletePolicy ?? deletePolicy)
        rules.mayCopy = table.unique.isEmpty
        for (name, policy) in own?.fields ?? [:] {
            guard let attribute = table.attributes.first(where: { $0.attributeName == name })
            else { continue }
            rules.fields[attribute.field] = policy
        }
        return rules
    }

    /// What the rules name that a catalog does not have, as `Entity` or `Entity.attribute`.
    package func unknownNames(in catalog: CatalogSnapshot) -> [String] {
        entities.flatMap { name, rules -> [String] in
            guard let table = catalog.table(named: name) else { return [name] }
            let known = Set(table.attributes.map(\.attributeName))
            return rules.fields.keys.filter { !known.contains($0) }.map { "\(name).\($0)" }
        }.sorted()
    }
}

/// The rules for the records of one entity, by field.
package struct MergeRules: Hashable, Sendable {
    package var policy: ConflictPolicy
    package var deletePolicy: DeletePolicy
    package var fields: [FieldID: FieldConflictPolicy] = [:]
    /// Whether a record may be kept twice.
    package var mayCopy = true

    package init(_ policy: ConflictPolicy, deletePolicy: DeletePolicy = .followPolicy) {
        self.policy = policy
        self.deletePolicy = deletePolicy
    }
}
