import Foundation

/// Values in the form that the service has for them.
extension ByteBuffer {
    /// Appends a value in the form that the service has for it.
    package mutating func append(json value: ServiceValue) {
        switch value {
        case .null: append(utf8: "null")
        case .string(let text): append(jsonText: text)
        case .int64(let number): append(decimal: number)
        case .double(let number): append(number: number)
        case .timestamp(let milliseconds): append(decimal: milliseconds)
        case .bytes(let data): append(jsonText: data.base64EncodedString())
        case .reference(let reference):
            append(json: RecordName(reference.recordName), reference.action)
        case .asset(let asset): append(json: asset)
        case .location(let location):
            append(utf8: "{\"latitude\":\(location.latitude),")
            append(utf8: "\"longitude\":\(location.longitude)}")
        case .list(let elements, _):
            append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { append(UInt8(ascii: ",")) }
                append(json: element)
            }
            append(UInt8(ascii: "]"))
        case .unknown(let value): append(utf8: value.json)
        }
    }

    private mutating func append(json name: RecordName, _ action: ServiceReference.Action) {
        append(utf8: "{\"recordName\":")
        append(json: name)
        append(action)
    }

    /// Appends what a reference has behind its name.
    private mutating func append(_ action: ServiceReference.Action) {
        if let action = action.name {
            append(utf8: ",\"action\":")
            append(jsonText: action)
        }
        append(UInt8(ascii: "}"))
    }

    private mutating func append(json asset: ServiceAsset) {
        var separator = "{"
        func name(_ name: String, to buffer: inout ByteBuffer) {
            buffer.append(utf8: separator)
            buffer.append(jsonText: name)
            buffer.append(UInt8(ascii: ":"))
            separator = ","
        }
        func member(_ key: String, _ text: String?, to buffer: inout ByteBuffer) {
            guard let text else { return }
            name(key, to: &buffer)
            buffer.append(jsonText: text)
        }
        member("fileChecksum", asset.fileChecksum, to: &self)
        if let size = asset.size {
            name("size", to: &self)
            append(decimal: size)
        }
        member("referenceChecksum", asset.referenceChecksum, to: &self)
        member("wrappingKey", asset.wrappingKey, to: &self)
        member("receipt", asset.receipt, to: &self)
        member("downloadURL", asset.downloadURL, to: &self)
        append(utf8: separator == "{" ? "{}" : "}")
    }

    /// Appends a stored value in the form that the service has for it.
    package mutating func append(
        json value: _FieldValue, of attribute: AttributeSchema?
    ) throws(FieldError) {
        let action = ServiceMapping.action(attribute?.reference?.onDelete)
        guard try !append(plainJSON: value, action) else { return }
        append(json: ServiceMapping.serviceValue(try value.decoded(), of: attribute))
    }

    /// Appends a stored value of a type that needs no attribute to be told what it is to the service.
    ///
    /// - Parameter action: What the service does with a record that refers to one that is deleted.
    /// - Returns: whether the value is of such a type; if not, nothing was appended.
    package mutating func append(
        plainJSON value: _FieldValue, _ action: ServiceReference.Action
    ) throws(FieldError) -> Bool {
        switch value.tag {
        case .string: unsafe append(jsonText: value.payload)
        case .int64: append(decimal: try value.int64())
        case .bool: append(decimal: try value.bool() ? 1 : 0)
        case .date: append(decimal: try value.milliseconds())
        case .double: append(number: try value.double())
        case .reference:
            append(utf8: "{\"recordName\":")
            guard unsafe append(jsonNameOf: value.payload) else { throw value.mismatch() }
            append(action)
        default: return false
        }
        return true
    }
}
