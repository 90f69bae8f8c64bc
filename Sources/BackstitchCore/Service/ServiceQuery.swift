/// A query to a service.
package struct ServiceQuery: Hashable, Sendable {
    /// The type of the records.
    package var recordType: String
    /// The conditions, all of which a record has to meet.
    package var filters: [ServiceFilter]
    /// The order of the records; the first key counts most.
    package var sorts: [ServiceSort]

    /// All records of a type, unless filters say otherwise.
    package init(
        recordType: String, filters: [ServiceFilter] = [], sorts: [ServiceSort] = []
    ) {
        self.recordType = recordType
        self.filters = filters
        self.sorts = sorts
    }
}

/// A field of a record, or one that the service keeps about it.
package enum ServiceFieldName: Hashable, Sendable {
    /// A field, by its name.
    case field(String)
    /// What the service keeps about the record.
    case system(ServiceSystemField)
}

/// Data that the service keeps about a record.
package enum ServiceSystemField: String, Hashable, Sendable, CaseIterable {
    /// The name.
    case recordName
    /// The share that it belongs to.
    case share
    /// The parent in a tree that is shared together.
    case parent
    /// Who created it.
    case createdUserRecordName
    /// When it was created.
    case createdTimestamp
    /// When it was last changed.
    case modifiedTimestamp
    /// Who changed it last.
    case modifiedUserRecordName
}

/// A condition on one field.
package struct ServiceFilter: Hashable, Sendable {
    /// How the field is compared with the value.
    package enum Comparator: String, Hashable, Sendable, CaseIterable {
        /// The field is equal to the value.
        case equals = "EQUALS"
        /// The field is not equal to the value.
        case notEquals = "NOT_EQUALS"
        /// The field is less than the value.
        case lessThan = "LESS_THAN"
        /// The field is less than the value, or equal to it.
        case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
        /// The field is greater than the value.
        case greaterThan = "GREATER_THAN"
        /// The field is greater than the value, or equal to it.
        case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
        /// The place is within the distance of the value.
        case near = "NEAR"
        /// The text has all words of the value.
        case containsAllTokens = "CONTAINS_ALL_TOKENS"
        /// The text has a word of the value.
        case containsAnyTokens = "CONTAINS_ANY_TOKENS"
        /// The field is in the list.
        case isIn = "IN"
        /// The field is not in the list.
        case notIn = "NOT_IN"
        /// The field is a list with the value.
        case listContains = "LIST_CONTAINS"
        /// The opposite of `listContains`.
        case notListContains = "NOT_LIST_CONTAINS"
        /// The field is a list with one of the values.
        case listContainsAny = "LIST_CONTAINS_ANY"
        /// The opposite of `listContainsAny`.
        case notListContainsAny = "NOT_LIST_CONTAINS_ANY"
        /// The field is a list with all of the values.
        case listContainsAll = "LIST_CONTAINS_ALL"
        /// The opposite of `listContainsAll`.
        case notListContainsAll = "NOT_LIST_CONTAINS_ALL"
        /// The text begins with the value.
        case beginsWith = "BEGINS_WITH"
        /// The opposite of `beginsWith`.
        case notBeginsWith = "NOT_BEGINS_WITH"
        /// A text of the list begins with the value.
        case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
        /// The opposite of `listMemberBeginsWith`.
        case notListMemberBeginsWith = "NOT_LIST_MEMBER_BEGINS_WITH"
    }

    /// The field.
    package var name: ServiceFieldName
    /// How it is compared.
    package var comparator: Comparator
    /// Nil compares with null.
    package var value: ServiceValue?
    /// Metres, for `near`.
    package var distance: Double?

    /// A condition by its parts.
    package init(
        _ name: ServiceFieldName, _ comparator: Comparator, _ value: ServiceValue?,
        distance: Double? = nil
    ) {
        self.name = name
        self.comparator = comparator
        self.value = value
        self.distance = distance
    }
}

/// One key of an order.
package struct ServiceSort: Hashable, Sendable {
    /// The field.
    package var name: ServiceFieldName
    /// Whether the least comes first.
    package var isAscending: Bool
    /// Sorts by the distance from a place.
    package var relativeLocation: ServiceLocation?

    /// A key by its parts.
    package init(
        _ name: ServiceFieldName, isAscending: Bool = true,
        relativeLocation: ServiceLocation? = nil
    ) {
        self.name = name
        self.isAscending = isAscending
        self.relativeLocation = relativeLocation
    }
}
