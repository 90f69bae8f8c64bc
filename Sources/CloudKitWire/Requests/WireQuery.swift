import BackstitchCore

/// What records are asked for.
package struct WireQuery: Hashable, Sendable, WireBody {
    package var recordType: String
    /// All have to hold.
    package var filters: [WireFilter]
    /// The first counts most.
    package var sorts: [WireSort]

    package init(recordType: String, filters: [WireFilter] = [], sorts: [WireSort] = []) {
        self.recordType = recordType
        self.filters = filters
        self.sorts = sorts
    }

    package init(json: JSONObject) throws(WireFormatError) {
        recordType = try json.requiredText("recordType")
        filters = try json.objects("filterBy", WireFilter.init(json:)) ?? []
        sorts = try json.objects("sortBy", WireSort.init(json:)) ?? []
    }

    package func write(to json: inout JSONWriter) {
        json.member("recordType", recordType)
        if !filters.isEmpty { json.member("filterBy", bodies: filters) }
        if !sorts.isEmpty { json.member("sortBy", bodies: sorts) }
    }
}

/// A field of a record, or one that the service keeps about it.
package enum WireFieldName: Hashable, Sendable {
    case field(String)
    case system(WireSystemField)

    init(json: JSONObject) throws(WireFormatError) {
        if let name = try json.text("fieldName") {
            self = WireSystemField(named: name).map(Self.system) ?? .field(name)
            return
        }
        guard let name = try json.text("systemFieldName") else {
            throw JSONObject.missing("fieldName")
        }
        guard let field = WireSystemField(named: name) ?? WireSystemField(rawValue: name) else {
            throw WireFormatError("There is no systemFieldName '\(name)'.")
        }
        self = .system(field)
    }

    func write(to json: inout JSONWriter) {
        switch self {
        case .field(let name): json.member("fieldName", name)
        case .system(let field): json.member("systemFieldName", field.rawValue)
        }
    }
}

/// What the service keeps about a record.
package enum WireSystemField: String, Hashable, Sendable, CaseIterable {
    case recordName
    case share
    case parent
    case createdUserRecordName
    case createdTimestamp
    case modifiedTimestamp
    case modifiedUserRecordName

    /// The field that goes by one of the schema's names.
    init?(named name: String) {
        switch name {
        case "___recordId", "___recordID": self = .recordName
        case "___createdBy": self = .createdUserRecordName
        case "___createTime": self = .createdTimestamp
        case "___modTime": self = .modifiedTimestamp
        case "___modifiedBy": self = .modifiedUserRecordName
        case "___parent": self = .parent
        case "___share": self = .share
        default: return nil
        }
    }
}

/// A condition on one field.
package struct WireFilter: Hashable, Sendable, WireBody {
    /// How the field is compared with the value.
    package enum Comparator: String, Hashable, Sendable, CaseIterable {
        case equals = "EQUALS"
        case notEquals = "NOT_EQUALS"
        case lessThan = "LESS_THAN"
        case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
        case greaterThan = "GREATER_THAN"
        case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
        case near = "NEAR"
        case containsAllTokens = "CONTAINS_ALL_TOKENS"
        case containsAnyTokens = "CONTAINS_ANY_TOKENS"
        case isIn = "IN"
        case notIn = "NOT_IN"
        case listContains = "LIST_CONTAINS"
        case notListContains = "NOT_LIST_CONTAINS"
        case listContainsAny = "LIST_CONTAINS_ANY"
        case notListContainsAny = "NOT_LIST_CONTAINS_ANY"
        case listContainsAll = "LIST_CONTAINS_ALL"
        case notListContainsAll = "NOT_LIST_CONTAINS_ALL"
        case beginsWith = "BEGINS_WITH"
        case notBeginsWith = "NOT_BEGINS_WITH"
        case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
        case notListMemberBeginsWith = "NOT_LIST_MEMBER_BEGINS_WITH"

        /// The comparator of a name, with the other spellings that are about.
        init?(named name: String) {
            switch name {
            case "CONTAINS_ANY": self = .listContainsAny
            case "LIST_NOT_CONTAINS": self = .notListContains
            case "LIST_NOT_CONTAINS_ANY": self = .notListContainsAny
            case "LIST_NOT_CONTAINS_ALL": self = .notListContainsAll
            default: self.init(rawValue: name)
            }
        }
    }

    package var name: WireFieldName
    package var comparator: Comparator
    /// Nil compares with null.
    package var value: WireValue?
    /// Metres, for `NEAR`.
    package var distance: Double?

    package init(
        _ name: WireFieldName, _ comparator: Comparator, _ value: WireValue?,
        distance: Double? = nil
    ) {
        self.name = name
        self.comparator = comparator
        self.value = value
        self.distance = distance
    }

    package init(json: JSONObject) throws(WireFormatError) {
        name = try WireFieldName(json: json)
        let spelled = try json.requiredText("comparator")
        guard let comparator = Comparator(named: spelled) else {
            throw WireFormatError("There is no comparator '\(spelled)'.")
        }
        self.comparator = comparator
        let operand = try json.requiredObject("fieldValue")
        let type = try operand.text("type")
        if comparator == .isIn || comparator == .notIn,
            type?.hasSuffix(WireFieldType.listSuffix) != true
        {
            throw WireFormatError(
                "BadRequestException: Unexpected input: \(spelled) takes a value of a list type.")
        }
        value = try WireField(json: operand, name: "fieldValue").value
        distance = try json.number("distance")
    }

    package func write(to json: inout JSONWriter) {
        name.write(to: &json)
        json.member("comparator", comparator.rawValue)
        json.object("fieldValue") { WireField(value).write(to: &$0) }
        json.member("distance", number: distance)
    }
}

/// One key of an order.
package struct WireSort: Hashable, Sendable, WireBody {
    package var name: WireFieldName
    package var isAscending: Bool
    /// Sorts by the distance from a place.
    package var relativeLocation: WireLocation?

    package init(
        _ name: WireFieldName, isAscending: Bool = true, relativeLocation: WireLocation? = nil
    ) {
        self.name = name
        self.isAscending = isAscending
        self.relativeLocation = relativeLocation
    }

    package init(json: JSONObject) throws(WireFormatError) {
        name = try WireFieldName(json: json)
        isAscending = try json.flag("ascending") ?? true
        guard let place = try json.object("relativeLocation") else { return }
        // A field value, or the location alone.
        let value = try place.object("value")
        relativeLocation = try WireLocation(json: value ?? place)
    }

    package func write(to json: inout JSONWriter) {
        name.write(to: &json)
        json.member("ascending", flag: isAscending)
        guard let relativeLocation else { return }
        json.object("relativeLocation") { json in
            json.member("value", relativeLocation)
            json.member("type", WireFieldType.location.rawValue)
        }
    }
}
