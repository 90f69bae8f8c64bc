package import BackstitchCore

/// A field: its value and how it is kept.
package struct WireField: Hashable, Sendable {
    /// Nil is an explicit null, which clears the field.
    package var value: ServiceValue?
    /// Whether the service keeps it sealed.
    package var isEncrypted: Bool
    /// Whether whoever sent it said the type, and so meant that of the value. Fields are equal without.
    package let hasType: Bool

    package init(_ value: ServiceValue?, isEncrypted: Bool = false, hasType: Bool = true) {
        self.value = value
        self.isEncrypted = isEncrypted
        self.hasType = hasType
    }

    package static func == (left: WireField, right: WireField) -> Bool {
        left.value == right.value && left.isEncrypted == right.isEncrypted
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(value)
        hasher.combine(isEncrypted)
    }
}

extension WireField {
    /// Reads a field.
    ///
    /// - Parameter name: Its name, for messages.
    package init(json: JSONObject, name: String) throws(WireFormatError) {
        let type: String?
        do throws(WireFormatError) {
            type = try json.text("type")
            isEncrypted = try json.flag("isEncrypted") ?? (type == "ENCRYPTED_BYTES")
        } catch {
            throw WireFormatError(error.message, field: name)
        }
        hasType = type != nil
        guard let json = json.value("value") else {
            value = nil
            return
        }
        value = try ServiceValue(json: json, type: type, field: name)
    }

    /// Writes the members of the field.
    package func write(to json: inout JSONWriter) {
        json.memberValue(value)
        json.member("type", value?.typeName)
        if isEncrypted { json.member("isEncrypted", flag: true) }
    }
}

extension JSONWriter {
    /// The member `value`, null included.
    mutating func memberValue(_ value: ServiceValue?) {
        guard let value else { return member("value", JSONValue.null) }
        element("value") { value.write(to: &$0) }
    }
}

/// The fields of a record, by name.
package typealias WireFields = [String: WireField]

extension WireFields {
    /// Reads the fields of a record.
    init(fieldsOf json: JSONObject) throws(WireFormatError) {
        self.init(minimumCapacity: json.count)
        try json.item.visitMembers { name, value throws(WireFormatError) in
            let name = name.text ?? ""
            self[name] = try WireField(json: JSONObject(value, of: name), name: name)
        }
    }

    /// Writes the fields in the order of their names, so that equal fields are equal bytes.
    package func write(to json: inout JSONWriter) {
        for index in indices.sorted(by: { keys[$0] < keys[$1] }) {
            json.object(keys[index]) { values[index].write(to: &$0) }
        }
    }
}
