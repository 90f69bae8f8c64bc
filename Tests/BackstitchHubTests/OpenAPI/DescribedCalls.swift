import CloudKitWire

@testable import BackstitchHubCore

/// The part of the hub's description that tells of the calls of the protocol, as the table of calls has
/// them. The schemas that it names, and the hub's own pages, are written by hand beside it.
enum DescribedCalls {
    /// What is before the calls, and what follows them, in the file.
    static let start = "  \"paths\": {\n"
    static let end = "    \"/courier/1/{token}\": {\n"

    /// The text between them.
    static var text: String {
        let (database, device) = (
            HubEndpoint.all.filter { !$0.path.isOfDevice },
            HubEndpoint.all.filter(\.path.isOfDevice)
        )
        return database.map { path($0, "/database", inDatabase: true, $0.summary) }.joined()
            + device.map { path($0, "/device", inDatabase: false, $0.summary) }.joined()
            + device.map {
                path(
                    $0, "/database", inDatabase: false, $0.summary + " (where the reference has it)"
                )
            }.joined()
    }

    private static func path(
        _ endpoint: HubEndpoint, _ start: String, inDatabase: Bool, _ summary: String
    ) -> String {
        let end = (inDatabase ? "/{database}/" : "/") + endpoint.path.rawValue
        let names =
            inDatabase
            ? ["container", "environment", "database", "extensions", "requestID", "pushToken"]
            : ["container", "environment", "extensions"]
        let parameters = names.map { "        \(reference("parameters", $0))" }
        let id = operationID(start, endpoint.path.rawValue)
        return """
                "\(start)/1/{container}/{environment}\(end)": {
                  "parameters": [
            \(parameters.joined(separator: ",\n"))
                  ],
            \(endpoint.methods.map { operation($0, endpoint, id, summary) }.joined())\
                  "options": {
                    "operationId": "options\(id)",
                    "summary": "Tells scripts of web pages what they may do",
                    "security": [],
                    "responses": {
                      "200": \(reference("responses", "Preflight")),
                      "default": \(reference("responses", "Failure"))
                    }
                  }
                },

            """
    }

    private static func operation(
        _ method: String, _ endpoint: HubEndpoint, _ id: String, _ summary: String
    ) -> String {
        let name = method.lowercased()
        let body = method == "GET" ? "" : self.body(endpoint)
        return """
                  "\(name)": {
                    "operationId": "\(name)\(id)",
                    "summary": "\(summary)",
                    "tags": ["\(tag(endpoint.path))"],
            \(body)\
                    "responses": {
            \(endpoint.reply.map { reply($0, endpoint.path) } ?? "")\
                      "default": \(reference("responses", "Failure"))
                    }
                  },

            """
    }

    private static func body(_ endpoint: HubEndpoint) -> String {
        guard let request = endpoint.request else {
            return """
                        "requestBody": {"description": "Not read.", "required": false, "content": {"*/*": {}}},

                """
        }
        return """
                    "requestBody": {
                      "required": \(!endpoint.mayBeEmpty),
                      "content": {
                        "application/json": {"schema": \(reference("schemas", request))}
                      }
                    },

            """
    }

    private static func reply(_ name: String, _ path: Endpoint) -> String {
        let done =
            ["users", "tokens"].contains(tag(path))
            ? "Done." : "Done; items that failed stand in their places."
        return """
                      "200": {
                        "description": "\(done)",
                        "headers": {
                          "X-Apple-Request-UUID": \(reference("headers", "RequestUUID")),
                          "X-Backstitch-Extensions": \(reference("headers", "Extensions"))
                        },
                        "content": {
                          "application/json": {"schema": \(reference("schemas", name))}
                        }
                      },

            """
    }

    private static func reference(_ kind: String, _ name: String) -> String {
        "{\"$ref\": \"#/components/\(kind)/\(name)\"}"
    }

    /// By what a generator of clients names a call, without its method.
    private static func operationID(_ start: String, _ path: String) -> String {
        "\(start)/\(path)".split(separator: "/").filter { $0 != "database" }
            .map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    /// The group of a call: what it begins with, and zones for those that tell of their changes.
    private static func tag(_ path: Endpoint) -> String {
        let first = path.rawValue.prefix { $0 != "/" }
        return first == "changes" ? "zones" : String(first)
    }
}
