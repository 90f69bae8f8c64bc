import CloudKitWire
import Foundation

@testable import BackstitchCore

/// The hub's description of its calls, `Sources/BackstitchHub/OpenAPI/openapi.json`.
struct APIDescription: Sendable {
    /// One call by one method.
    struct Operation: Sendable {
        var method: String
        var path: String
        /// The body of a request, where it is JSON.
        var request: JSONSchema?
        /// What a reply of status 200 may be, by content type; nil where there is none.
        var replies: [String: JSONSchema]?
        var replyHeaders: [String] = []
        var replyMayBeEmpty = false
        /// What a reply of another status may be, by the status or `default`, and then by content type.
        var refusals: [String: [String: JSONSchema]] = [:]

        /// Method and path.
        var name: String { "\(method) \(path)" }

        fileprivate var parts: [Substring] { Self.parts(path[...]) }

        fileprivate static func parts(_ path: Substring) -> [Substring] {
            path.split(separator: "/", omittingEmptySubsequences: false)
        }
    }

    let json: JSONValue
    let operations: [Operation]
    let checker: SchemaChecker
    private let statuses: [String: Int]
    private let otherStatuses: [String: [Int]]
    private let textStatuses: Set<Int>
    /// The operations by method, and then by the number of parts of their paths.
    private let index: [String: [Int: [Operation]]]

    /// The description, read once.
    static let hub = Result { try APIDescription() }

    /// Where it is.
    static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../Sources/BackstitchHub/OpenAPI/openapi.json")

    private init() throws {
        let json = try JSONParser.parse(Array(Data(contentsOf: Self.file)))
        self.json = json
        let components = json["components"]
        var schemas: [String: JSONSchema] = [:]
        for member in components["schemas"].members {
            schemas[member.name] = try JSONSchema(member.value, at: member.name)
        }
        checker = SchemaChecker(schemas: schemas)
        var statuses: [String: Int] = [:]
        for member in components["schemas"]["ErrorCode"]["x-http-status"].members {
            statuses[member.name] = member.value.count
        }
        self.statuses = statuses
        let failure = components["responses"]["Failure"]
        var others: [String: [Int]] = [:]
        for member in failure["x-other-statuses"].members {
            others[member.name] = member.value.elements.map(\.count)
        }
        otherStatuses = others
        textStatuses = Set(failure["x-text-statuses"].elements.map(\.count))
        let operations = try json["paths"].members.flatMap { path in
            try path.value.members.filter { $0.name != "parameters" }.map {
                try Self.operation($0, path.name, components)
            }
        }
        self.operations = operations
        index = Dictionary(grouping: operations, by: \.method).mapValues {
            Dictionary(grouping: $0, by: \.parts.count)
        }
    }

    private static func operation(
        _ member: JSONValue.Member, _ path: String, _ components: JSONValue
    ) throws -> Operation {
        let place = "\(path) \(member.name)"
        var operation = Operation(method: member.name.uppercased(), path: path)
        let body = member.value["requestBody"]["content"]["application/json"]["schema"]
        if body != .null { operation.request = try JSONSchema(body, at: place) }
        func response(_ json: JSONValue) -> JSONValue {
            guard let name = json["$ref"].text.split(separator: "/").last else { return json }
            return components["responses"][String(name)]
        }
        func contents(_ response: JSONValue) throws -> [String: JSONSchema] {
            let members = response["content"].members
            return try Dictionary(
                uniqueKeysWithValues: members.map {
                    ($0.name, try JSONSchema($0.value["schema"], at: place))
                })
        }
        for other in member.value["responses"].members where other.name != "200" {
            operation.refusals[other.name] = try contents(response(other.value))
        }
        let done = response(member.value["responses"]["200"])
        guard done != .null else { return operation }
        operation.replies = try contents(done)
        operation.replyHeaders = done["headers"].members.map(\.name)
        operation.replyMayBeEmpty = done["x-may-be-empty"] == .bool(true)
        return operation
    }

    /// The operation that a request calls; nil where none is described.
    func operation(_ method: String, _ target: String) -> Operation? {
        let path = target.prefix { $0 != "?" }
        let parts = Operation.parts(path)
        return index[method]?[parts.count]?.first { operation in
            zip(operation.parts, parts).allSatisfy { template, part in
                switch template {
                case "{environment}": part == "development" || part == "production"
                case "{database}": WireDatabase(rawValue: String(part)) != nil
                default: template.hasPrefix("{") || template == part
                }
            }
        }
    }

    // MARK: Checking

    /// What is wrong with the body of a request.
    func problems(request body: [UInt8], of operation: Operation) -> [String] {
        guard let schema = operation.request else { return [] }
        guard let json = body.isEmpty ? .object([]) : try? JSONParser.parse(body) else {
            return ["the request is no JSON"]
        }
        return checker.problems(json.withoutNulls, schema, at: "request")
    }

    /// What is wrong with an exchange. A request that was answered as it wishes has to be described,
    /// and so has every reply.
    func problems(
        _ method: String, _ target: String, request: [UInt8], status: Int,
        headers: [String: String], reply: [UInt8]
    ) -> [String] {
        guard status == 200 else {
            let isHead = method == "HEAD" && reply.isEmpty
            return isHead ? [] : problems(failure: status, headers, reply)
        }
        guard let operation = operation(method, target), let replies = operation.replies else {
            return ["\(method) \(target.prefix { $0 != "?" }): is answered and not described"]
        }
        var found = problems(request: request.withoutRefused(in: reply), of: operation)
        for name in operation.replyHeaders where headers[name.lowercased()] == nil {
            found.append("the reply lacks the header \(name)")
        }
        guard let type = Self.type(headers) else {
            return replies.isEmpty ? found : found + ["the reply lacks a Content-Type"]
        }
        guard let schema = replies[type] else {
            return found + ["the reply is \(type), and not one of \(replies.keys.sorted())"]
        }
        if reply.isEmpty, operation.replyMayBeEmpty || method == "HEAD" { return found }
        guard type == "application/json" else { return found }
        guard let json = try? JSONParser.parse(reply) else { return found + ["it is no JSON"] }
        return found + checker.problems(json, schema, at: "reply")
    }

    /// What is wrong with the answer to a request that failed as a whole.
    func problems(
        failure status: Int, _ headers: [String: String], _ reply: [UInt8]
    ) -> [String] {
        guard Self.type(headers) == "application/json" else {
            return textStatuses.contains(status) ? [] : ["text with the status \(status)"]
        }
        guard let json = try? JSONParser.parse(reply), let schema = checker.schemas["ServerError"]
        else { return ["the failure is no JSON"] }
        let code = json["serverErrorCode"].text
        let isExpected = statuses[code] == status || otherStatuses[code]?.contains(status) == true
        let wrong = isExpected ? [] : ["\(json["serverErrorCode"].text) with \(status)"]
        return wrong + checker.problems(json, schema, at: "failure")
    }

    /// What is wrong with a refusal by an operation: its status and its body have to be described there.
    func problems(
        refusal status: Int, of operation: Operation, _ headers: [String: String], _ reply: [UInt8]
    ) -> [String] {
        guard let contents = operation.refusals["\(status)"] ?? operation.refusals["default"] else {
            return ["the status \(status) is not described"]
        }
        guard operation.method != "HEAD" || !reply.isEmpty else { return [] }
        guard let type = Self.type(headers), let schema = contents[type] else {
            return ["a refusal of \(Self.type(headers) ?? "no type") is not described"]
        }
        guard type == "application/json" else { return [] }
        guard let json = try? JSONParser.parse(reply) else { return ["the refusal is no JSON"] }
        return checker.problems(json, schema, at: "refusal")
            + problems(failure: status, headers, reply)
    }

    private static func type(_ headers: [String: String]) -> String? {
        headers["content-type"]?.split(separator: ";").first.map(String.init)
    }
}

extension [UInt8] {
    /// The body of a request without the operations that a reply refuses, each in its place: what is
    /// wrong with those is told.
    fileprivate func withoutRefused(in reply: [UInt8]) -> [UInt8] {
        guard let request = try? JSONParser.parse(self), let reply = try? JSONParser.parse(reply)
        else { return self }
        let operations = request["operations"].elements
        let items = ["records", "subscriptions", "zones"].flatMap { reply[$0].elements }
        guard operations.count == items.count,
            items.contains(where: { $0["serverErrorCode"] != .null })
        else { return self }
        let taken = zip(operations, items).filter { $0.1["serverErrorCode"] == .null }.map(\.0)
        let members = request.members.map { member in
            member.name == "operations"
                ? JSONValue.Member(name: member.name, value: .array(taken)) : member
        }
        var writer = JSONWriter()
        writer.value(.object(members))
        return writer.bytes
    }
}
