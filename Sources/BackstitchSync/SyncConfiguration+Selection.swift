public import BackstitchCore
package import BackstitchLog
import BackstitchStore
public import Foundation

extension SyncConfiguration {
    /// Which records a sync engine exchanges.
    ///
    /// ```swift
    /// let selection = try SyncConfiguration.Selection(Note.self, Tag.self)
    ///     .pushing(#Predicate<Note> { !$0.isDraft })
    /// ```
    ///
    /// Records of the other entities stay on this device: they are neither pushed nor pulled. Of an
    /// entity with a predicate, records that don't match are not pushed; all are pulled.
    ///
    /// - A record that starts to match is pushed with everything that was held back, as a whole if
    ///   the service does not have it.
    /// - A record that stops to match stays on the service as it is there; its later edits are held
    ///   back, the one that made it stop among them.
    /// - A delete is judged by the record as it was before.
    ///
    /// What is held back stays in the log, and is pushed when the selection is widened. A record for
    /// which the predicate can't be evaluated is held back.
    public struct Selection: Sendable {
        /// The names of the entities that are exchanged; nil is all.
        package let entities: Set<String>?
        /// Whether types that no schema of the store declares are left out too.
        package let isClosed: Bool
        /// What records must match to be pushed, by entity.
        private var queries: [String: RecordQuery] = [:]

        /// Everything.
        public static let all = Selection(entities: nil)

        /// All records of some entities.
        public init(_ types: any Entity.Type...) {
            self.init(entities: Set(types.map { $0.entityName }))
        }

        private init(entities: Set<String>?, isClosed: Bool = false) {
            self.entities = entities
            self.isClosed = isClosed
        }

        /// All records of some entities, and nothing else: the service is not asked for records of other types.
        ///
        /// Any other selection also pulls the types that no schema of the store declares, and keeps them for a
        /// newer version of the program. This one transfers less. A selection that takes more fetches
        /// everything once more.
        public static func only(_ types: any Entity.Type...) -> Selection {
            Selection(entities: Set(types.map { $0.entityName }), isClosed: true)
        }

        /// The selection, narrowed for one entity: only records that match a predicate are pushed.
        ///
        /// - Throws: ``QueryError`` for a predicate that can't be translated.
        public func pushing<Model: Entity>(_ predicate: Predicate<Model>) throws -> Selection {
            var selection = self
            var query = selection.queries[Model.entityName] ?? RecordQuery(entity: Model.entityName)
            for condition in try Query<Model>().where(predicate).lowered().conditions {
                query = query.adding(condition)
            }
            selection.queries[Model.entityName] = query
            return selection
        }

        /// The types that the service is asked for; nil is all.
        var wantedTypes: Set<String>? { isClosed ? entities : nil }

        /// Whether everything is exchanged.
        package var isAll: Bool { entities == nil && queries.isEmpty }

        /// The selection for a store.
        ///
        /// - Throws: `unknownEntity` if an entity is not one of the store's.
        package func bound(to reader: TableReader) throws -> BoundSelection {
            var bound = BoundSelection(wantedTypes: wantedTypes)
            guard !isAll else { return bound }
            for name in (entities ?? []).union(queries.keys).sorted() {
                guard let table = reader.catalog.table(named: name), table.isDeclared else {
                    throw StoreError(
                        .unknownEntity,
                        "The selection of the sync engine names \(name), which is no entity of the "
                            + "store. Add it to the schema, or leave it out.")
                }
                if let query = queries[name] {
                    bound.filters[table.number] = try QueryFilter(
                        query, in: reader.entityBinding(table.number))
                }
            }
            if let entities {
                for table in reader.catalog.tables where !entities.contains(table.name) {
                    if table.isDeclared || isClosed { bound.excluded.insert(table.number) }
                }
            }
            return bound
        }
    }
}
