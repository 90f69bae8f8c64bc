public import Foundation

extension Query {
    /// A query whose records are put into sections of those with the same key.
    ///
    /// Sections are in the order of their keys, nil first, or the other way round; the records of each are in the
    /// order of the query. A limit or offset of the query counts records in that order.
    ///
    /// ```swift
    /// let people = Query<Person>().sorted(by: \.name)
    /// for section in try transaction.fetch(people.sections(by: \.city)) {
    ///     print(section.key ?? "nowhere", section.count)
    /// }
    /// ```
    public struct Sections<Key: AttributeValue>: Sendable {
        /// Makes the query that is sorted by the key first.
        package let query: @Sendable () throws -> Query<Model>
        private let key: @Sendable (Model) -> RecordValue

        init(
            _ query: @escaping @Sendable () throws -> Query<Model>,
            _ key: @escaping @Sendable (Model) -> RecordValue
        ) {
            self.query = query
            self.key = key
        }

        /// Puts records into sections whose keys come one after another.
        package func sections(of records: [Model]) throws -> [Section] {
            let keys = records.map(key)
            var sections: [Section] = []
            var first = 0
            for index in records.indices
            where index + 1 == records.count || keys[index + 1] != keys[index] {
                sections.append(
                    Section(
                        key: try Key(value: keys[index]), records: Array(records[first...index])))
                first = index + 1
            }
            return sections
        }

        /// The records of an answer that have a key in common.
        public struct Section: Sendable {
            /// What the records have in common, or the beginning of the period that they are in.
            public let key: Key
            /// The records, in the order of the query.
            public let records: [Model]
            /// The number of the records.
            public var count: Int { records.count }
        }
    }
}

extension Query {
    /// The query with its records in sections of those with the same value of an attribute.
    public func sections<Key: OrderedAttributeValue>(
        by keyPath: any KeyPath<Model, Key> & Sendable, order: SortOrder = .forward
    ) -> Sections<Key> {
        Sections {
            sortedFirst(byName: try Self.storedAttribute(at: keyPath), order)
        } _: {
            $0[keyPath: keyPath]._recordValue
        }
    }

    /// The query with its records in sections by the day, week, month or year of a date; the key is the
    /// beginning of the period.
    public func sections<Key: _DateAttributeValue>(
        by period: DatePeriod, of keyPath: any KeyPath<Model, Key> & Sendable,
        order: SortOrder = .forward
    ) -> Sections<Key> {
        Sections {
            sortedFirst(byName: period.name(of: try Self.storedAttribute(at: keyPath)), order)
        } _: {
            period.apply($0[keyPath: keyPath]._recordValue)
        }
    }
}
