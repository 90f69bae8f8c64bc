package import BackstitchCore
import Foundation

extension ServiceValue {
    /// Reads a value of a type; if none is told, the form of the JSON tells.
    ///
    /// - Parameters:
    ///   - type: The name of the type. One that is not known is kept with its value.
    ///   - field: The name of the field, for messages.
    package init(
        json: JSONItem, type: String?, field: String
    ) throws(WireFormatError) {
        guard let type else {
            self = try Self.inferred(json, field: field)
            return
        }
        if let scalar = ServiceFieldType(named: type) {
            self = try Self.scalar(json, scalar, field: field)
        } else if type.hasSuffix(ServiceFieldType.listSuffix),
            let element = ServiceFieldType(
                named: String(type.dropLast(ServiceFieldType.listSuffix.count)))
        {
            self = try Self.list(json, of: element, field: field)
        } else {
            var writer = JSONWriter()
            writer.value(json.value)
            self = .unknown(
                UnknownValue(
                    typeName: type, json: String(decoding: writer.bytes, as: UTF8.self)))
        }
    }

    private static func list(
        _ json: JSONItem, of element: ServiceFieldType, field: String
    ) throws(WireFormatError) -> ServiceValue {
        guard json.isArray else {
            throw mismatch(element.rawValue + ServiceFieldType.listSuffix, field)
        }
        var values: [ServiceValue] = []
        values.reserveCapacity(json.count)
        for value in json.elements { values.append(try scalar(value, element, field: field)) }
        return .list(values, of: element)
    }

    private static func scalar(
        _ json: JSONItem, _ type: ServiceFieldType, field: String
    ) throws(WireFormatError) -> ServiceValue {
        switch type {
        case .string: if let text = json.text { return .string(text) }
        case .int64: if let number = json.integerOrFlag { return .int64(number) }
        case .double: if let number = json.finiteNumber { return .double(number) }
        case .timestamp: if let number = json.integer { return .timestamp(milliseconds: number) }
        case .bytes:
            if let text = json.text, let data = Data(base64Encoded: text) {
                return .bytes(data)
            }
        case .reference, .asset, .location:
            guard json.isObject else { break }
            do throws(WireFormatError) {
                return try object(JSONObject(json, of: field), type)
            } catch {
                throw WireFormatError(error.message, field: field)
            }
        }
        throw mismatch(type.rawValue, field)
    }

    private static func object(
        _ json: JSONObject, _ type: ServiceFieldType
    ) throws(WireFormatError) -> ServiceValue {
        switch type {
        case .asset: .asset(try ServiceAsset(json: json))
        case .location: .location(try ServiceLocation(json: json))
        default: .reference(try ServiceReference(json: json))
        }
    }

    /// The value of untagged JSON: text is STRING, a number in digits alone INT64, any other DOUBLE,
    /// and an object what its keys say.
    private static func inferred(
        _ json: JSONItem, field: String
    ) throws(WireFormatError) -> ServiceValue {
        guard json.isArray else {
            return try scalar(json, try inferredType(json, field: field), field: field)
        }
        let elements = json.elements
        guard let first = elements.first else { return .list([], of: nil) }
        var type = try inferredType(first, field: field)
        // A list of numbers is one of doubles as soon as one of them is written like one.
        if type == .int64, !elements.allSatisfy({ $0.isPlainInteger || $0.isFlag }) {
            type = .double
        }
        return try list(json, of: type, field: field)
    }

    private static func inferredType(
        _ json: JSONItem, field: String
    ) throws(WireFormatError) -> ServiceFieldType {
        if json.isText { return .string }
        if json.isFlag { return .int64 }
        if json.isNumber { return json.isPlainInteger ? .int64 : .double }
        if json.isObject {
            let object = try JSONObject(json, of: field)
            if object.has("recordName") { return .reference }
            if object.has("latitude") { return .location }
            let assetKeys = ["fileChecksum", "receipt", "downloadURL"]
            if assetKeys.contains(where: object.has) { return .asset }
        }
        throw mismatch("a value", field)
    }

    private static func mismatch(_ type: String, _ field: String) -> WireFormatError {
        WireFormatError("Invalid value, expected type \(type).", field: field)
    }
}

extension JSONItem {
    fileprivate var isFlag: Bool { flag != nil }

    /// A whole number, or 0 and 1 for false and true.
    var integerOrFlag: Int64? { flag.map { $0 ? 1 : 0 } ?? integer }
}

extension ServiceReference: WireBody {
    package init(json: JSONObject) throws(WireFormatError) {
        self.init(
            recordName: try json.requiredText("recordName"),
            action: Action(name: try json.text("action")))
        zoneID = try json.object("zoneID").map(WireZoneID.init(json:))
    }
}

extension ServiceAsset: WireBody {
    package init(json: JSONObject) throws(WireFormatError) {
        self.init()
        fileChecksum = try json.text("fileChecksum")
        size = try json.integer("size")
        referenceChecksum = try json.text("referenceChecksum")
        wrappingKey = try json.text("wrappingKey")
        receipt = try json.text("receipt")
        downloadURL = try json.text("downloadURL")
    }
}

extension ServiceLocation: WireBody {
    package init(json: JSONObject) throws(WireFormatError) {
        guard let latitude = try json.number("latitude"),
            let longitude = try json.number("longitude"),
            (-90...90).contains(latitude), (-180...180).contains(longitude)
        else {
            throw WireFormatError("A location takes a latitude and a longitude in degrees.")
        }
        self.init(latitude: latitude, longitude: longitude)
        horizontalAccuracy = try json.number("horizontalAccuracy")
        verticalAccuracy = try json.number("verticalAccuracy")
        altitude = try json.number("altitude")
        speed = try json.number("speed")
        course = try json.number("course")
        timestamp = try json.integer("timestamp")
    }
}
