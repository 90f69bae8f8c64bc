package import BackstitchCore

extension NamedFields {
    /// Reads the fields of a record, each an object with the value and its type. Explicit nulls are left out.
    package init(valuesOf json: JSONObject) throws(WireFormatError) {
        var writer = NamedFieldsWriter()
        try json.item.visitMembers { name, value throws(WireFormatError) in
            guard value.isObject else { throw JSONObject.mismatch(name.text ?? "", "an object") }
            try writer.write(value, named: name)
        }
        self = writer.finish()
    }
}

extension NamedFieldsWriter {
    /// Packs a field; nothing if it is null.
    fileprivate mutating func write(
        _ field: JSONItem, named name: JSONItem
    ) throws(WireFormatError) {
        var (value, type, isEncrypted): (JSONItem?, JSONItem?, JSONItem?)
        field.visitMembers { member, part in
            guard !part.isNull else { return }
            if member.isText("value") {
                value = part
            } else if member.isText("type") {
                type = part
            } else if member.isText("isEncrypted") {
                isEncrypted = part
            }
        }
        guard type?.isText != false else {
            throw JSONObject.mismatch("type", "text", field: name.text ?? "")
        }
        if let isEncrypted, isEncrypted.flag == nil {
            throw JSONObject.mismatch("isEncrypted", "true or false", field: name.text ?? "")
        }
        guard let value else { return }
        unsafe name.withUTF8 { unsafe begin($0) }
        if !appendPlain(value, type) {
            let value = try ServiceValue(json: value, type: type?.text, field: name.text ?? "")
            value.append(packedTo: &buffer)
        }
        end()
    }

    /// Appends a text or a number of a type that is told.
    ///
    /// - Returns: false if it is another value, or does not fit the type; then nothing was appended.
    private mutating func appendPlain(_ value: JSONItem, _ type: JSONItem?) -> Bool {
        guard let type else { return false }
        if type.isText("STRING") {
            guard value.isText else { return false }
            buffer.append(FieldTag.string.rawValue)
            unsafe value.withUTF8 { unsafe buffer.append($0) }
        } else if type.isText("INT64") {
            guard let number = value.integerOrFlag else { return false }
            buffer.append(FieldTag.int64.rawValue)
            buffer.append(little: number)
        } else if type.isText("TIMESTAMP") {
            guard let number = value.integer else { return false }
            buffer.append(FieldTag.date.rawValue)
            buffer.append(little: number)
        } else {
            return false
        }
        return true
    }
}
