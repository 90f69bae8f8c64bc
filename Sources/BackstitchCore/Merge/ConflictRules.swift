extension ConflictRules {
    /// Decides a conflict in which one side edited a record and the other deleted it.
    public enum DeletePolicy: String, Hashable, Sendable, CaseIterable, Codable {
        /// The conflict policy decides this too.
        case followPolicy
        /// The delete wins, on whichever side it was made.
        case deleteWins
        /// The edited record stays, or comes back.
        case editWins
    }
}

extension ConflictRules {
    /// Decides a field that both sides changed to different values.
    public enum FieldPolicy: String, Hashable, Sendable, CaseIterable, Codable {
        /// The service's value.
        case serverWins
        /// The local value.
        case clientWins
        /// The value of the version that was made later; see ``ConflictPolicy/lastWriterWins``.
        case lastWriterWins
    }
}

extension ConflictRules {
    /// The conflict rules of one entity.
    public struct EntityRules: Hashable, Sendable {
        /// The policy; nil for the store's.
        public var policy: ConflictPolicy?
        /// The policy for deletes against edits; nil for the store's.
        public var deletePolicy: ConflictRules.DeletePolicy?
        /// The policies of fields, by attribute name, if the policy is a merge.
        public var fields: [String: ConflictRules.FieldPolicy]

        /// Rules of one entity; what is not given follows the store's rules.
        public init(
            policy: ConflictPolicy? = nil, deletePolicy: ConflictRules.DeletePolicy? = nil,
            fields: [String: ConflictRules.FieldPolicy] = [:]
        ) {
            self.policy = policy
            self.deletePolicy = deletePolicy
            self.fields = fields
        }
    }
}

/// The conflict rules of a store.
public struct ConflictRules: Hashable, Sendable {
    /// The policy of entities without a rule of their own.
    public var policy: ConflictPolicy
    /// The policy for deletes against edits, of entities without a rule of their own.
    public var deletePolicy: ConflictRules.DeletePolicy
    /// The rules of single entities, by name.
    public var entities: [String: ConflictRules.EntityRules]

    /// Rules for all entities, and what differs for some.
    public init(
        _ policy: ConflictPolicy = .serverWins,
        deletePolicy: ConflictRules.DeletePolicy = .followPolicy,
        entities: [String: ConflictRules.EntityRules] = [:]
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
        guard case .merge = rules.policy else { return rules }
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
    package var deletePolicy: ConflictRules.DeletePolicy
    package var fields: [FieldID: ConflictRules.FieldPolicy] = [:]
    /// Whether a record may be kept twice.
    package var mayCopy = true

    package init(_ policy: ConflictPolicy, deletePolicy: ConflictRules.DeletePolicy = .followPolicy)
    {
        self.policy = policy
        self.deletePolicy = deletePolicy
    }
}
