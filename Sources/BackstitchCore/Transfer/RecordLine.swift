/// A record as a line of an export spells it.
///
/// ```json
/// {"entity":"Note","record":"n0","values":{"stars":{"int64":1},"title":{"string":"Note 0"}}}
/// ```
///
/// `zone` is the slot of the record's zone, if that is not 0. A value names its kind.
package struct RecordLine: Hashable, Sendable {
    package let entity: String
    package let key: RecordKey
    /// The values by attribute name, without nulls.
    package let values: [String: RecordValue]

    package init(entity: String, key: RecordKey, values: [String: RecordValue]) {
        self.entity = entity
        self.key = key
        self.values = values
    }

    /// Why a line is no record.
    package struct Failure: Error, Hashable, Sendable {
        package let reason: String
    }

    // MARK: Reading

    /// Reads a line, without its end.
    package init(_ bytes: [UInt8]) throws(Failure) {
        let json: JSONValue
        do {
            json = try JSONParser.parse(bytes)
        } catch {
            throw Failure(reason: "No JSON at byte \(error.offset + 1): \(error.message).")
        }
        guard case .object(let members) = json else {
            throw Failure(reason: "The line is no JSON object.")
        }
        var parts: [String: JSONValue] = [:]
        for member in members { parts[member.name] = member.value }
        let known: Set<String> = ["entity", "record", "zone", "values"]
        if let other = members.first(where: { !known.contains($0.name) }) {
            throw Failure(reason: "There is no member \"\(other.name)\" in a record's line.")
        }
        guard case .string(let entity)? = parts["entity"] else {
            throw Failure(reason: "The member \"entity\" with the entity's name is missing.")
        }
        guard case .string(let name)? = parts["record"] else {
            throw Failure(reason: "The member \"record\" with the record's name is missing.")
        }
        guard case .object(let fields)? = parts["values"] else {
            throw Failure(reason: "The member \"values\" with the record's values is missing.")
        }
        var zone: UInt8 = 0
        if let slot = parts["zone"] {
            guard case .number(let text) = slot, let number = UInt8(text) else {
                throw Failure(reason: "The member \"zone\" is no number from 0 to 255.")
            }
            zone = number
        }
        var values: [String: RecordValue] = [:]
        for field in fields {
            do throws(ValueError) {
                let value = try RecordValue(tagged: field.value)
                if value != .null { values[field.name] = value }
            } catch {
                throw Failure(
                    reason: "The value of \"\(field.name)\" can't be read: \(error.reason)")
            }
        }
        self.init(entity: entity, key: RecordKey(RecordName(name), zone: zone), values: values)
    }

    // MARK: Writing

    /// Appends the line with its end; attributes are in the order of their names.
    package func write(into output: inout ByteBuffer) {
        output.append(utf8: "{\"entity\":")
        output.append(jsonText: entity)
        output.append(utf8: ",\"record\":")
        output.append(json: key.name)
        if key.zone != 0 { output.append(utf8: ",\"zone\":\(key.zone)") }
        output.append(utf8: ",\"values\":{")
        var isFirst = true
        // By bytes: `<` of strings has no order for some that differ in form and end in a zero.
        let sorted = values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        for (name, value) in sorted {
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            output.append(jsonText: name)
            output.append(UInt8(ascii: ":"))
            value.write(taggedInto: &output)
        }
        output.append(utf8: "}}\n")
    }
}
