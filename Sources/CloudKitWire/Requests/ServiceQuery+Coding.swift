package import BackstitchCore

extension ServiceQuery: WireBody {
    package init(json: JSONObject) throws(WireFormatError) {
        self.init(
            recordType: try json.requiredText("recordType"),
            filters: try json.objects("filterBy", ServiceFilter.init(json:)) ?? [],
            sorts: try json.objects("sortBy", ServiceSort.init(json:)) ?? [])
    }

    package func write(to json: inout JSONWriter) {
        json.member("recordType", recordType)
        if !filters.isEmpty { json.member("filterBy", bodies: filters) }
        if !sorts.isEmpty { json.member("sortBy", bodies: sorts) }
    }
}

extension ServiceFieldName {
    init(json: JSONObject) throws(WireFormatError) {
        if let name = try json.text("fieldName") {
            self = ServiceSystemField(named: name).map(Self.system) ?? .field(name)
            return
        }
        guard let name = try json.text("systemFieldName") else {
            throw JSONObject.missing("fieldName")
        }
        guard let field = ServiceSystemField(named: name) ?? ServiceSystemField(rawValue: name)
        else {
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

extension ServiceSystemField {
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

extension ServiceFilter.Comparator {
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

extension ServiceFilter: WireBody {
    package init(json: JSONObject) throws(WireFormatError) {
        let name = try ServiceFieldName(json: json)
        let spelled = try json.requiredText("comparator")
        guard let comparator = Comparator(named: spelled) else {
            throw WireFormatError("There is no comparator '\(spelled)'.")
        }
        let operand = try json.requiredObject("fieldValue")
        let type = try operand.text("type")
        if comparator == .isIn || comparator == .notIn,
            type?.hasSuffix(ServiceFieldType.listSuffix) != true
        {
            throw WireFormatError(
                "BadRequestException: Unexpected input: \(spelled) takes a value of a list type.")
        }
        self.init(
            name, comparator, try WireField(json: operand, name: "fieldValue").value,
            distance: try json.number("distance"))
    }

    package func write(to json: inout JSONWriter) {
        name.write(to: &json)
        json.member("comparator", comparator.rawValue)
        json.object("fieldValue") { WireField(value).write(to: &$0) }
        json.member("distance", number: distance)
    }
}

extension ServiceSort: WireBody {
    package init(json: JSONObject) throws(WireFormatError) {
        self.init(
            try ServiceFieldName(json: json), isAscending: try json.flag("ascending") ?? true)
        guard let place = try json.object("relativeLocation") else { return }
        // A field value, or the location alone.
        let value = try place.object("value")
        relativeLocation = try ServiceLocation(json: value ?? place)
    }

    package func write(to json: inout JSONWriter) {
        name.write(to: &json)
        json.member("ascending", flag: isAscending)
        guard let relativeLocation else { return }
        json.object("relativeLocation") { json in
            json.member("value", relativeLocation)
            json.member("type", ServiceFieldType.location.rawValue)
        }
    }
}
