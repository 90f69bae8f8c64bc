import BackstitchCore
import CloudKitWire
import Foundation
import Threading
import Testing
import WireCrypto

@testable import BackstitchHubCore

/// A hub and the requests of a check, as plain JSON: what a check says is independent of the types that
/// the hub and the client share.
struct ConformanceWorld {
    /// Who sends a request.
    enum Sender {
        case ada
        case bob
        case anonymous
    }

    /// What came back.
    struct Answer {
        var status: Int
        var headers: [String: String]
        var body: [UInt8]

        var json: JSONValue { (try? JSONParser.parse(body)) ?? .null }
        /// The items of the list that a reply is.
        var records: [JSONValue] { json["records"].elements }
        /// The code of the failure of the whole, or of the first item.
        var code: String {
            let whole = json["serverErrorCode"].text
            let lists = ["records", "zones", "subscriptions", "assets"]
            let first = lists.lazy.compactMap { json[$0].elements.first }.first
            return whole.isEmpty ? first?["serverErrorCode"].text ?? "" : whole
        }
    }

    let fixture: HubFixture

    init(_ engine: StorageEngine) async throws {
        fixture = try await HubFixture(storage: engine.storage())
        try await fixture.makeZones("Z", "Y")
    }

    /// Calls an endpoint with JSON.
    func post(
        _ call: String, _ body: String, as sender: Sender = .ada, method: String = "POST",
        query: String = ""
    ) async -> Answer {
        let path =
            call.hasPrefix("tokens/")
            ? "/device/1/iCloud.test/development/" : "/database/1/iCloud.test/development/"
        var target = path + call + "?ckAPIToken=" + fixture.apiToken
        let user: HubAccounts.SignedInUser? =
            switch sender {
            case .ada: fixture.ada
            case .bob: fixture.bob
            case .anonymous: nil
            }
        if let user {
            let token = user.webAuthToken.replacing("+", with: "%2B").replacing("/", with: "%2F")
                .replacing("=", with: "%3D")
            target += "&ckWebAuthToken=\(token)"
        }
        return await send(method, target + query, Array(body.utf8))
    }

    /// Sends a request to any address.
    func send(
        _ method: String, _ target: String, _ body: [UInt8] = [],
        headers: [HubRequest.Header] = []
    ) async -> Answer {
        let request = HubRequest(method: method, target: target, headers: headers, body: body)
        let response = await fixture.hub.respond(to: request)
        response.check(against: request, mayBeWrong: true)
        let names = Dictionary(response.headers.map { ($0.name.lowercased(), $0.value) }) { $1 }
        return Answer(status: response.status, headers: names, body: response.body.content)
    }

    /// Calls an endpoint of the public database as a server, with a new key.
    func signed(_ method: String, _ call: String, _ body: String = "") async throws -> Answer {
        let key = SigningKey.generate()
        let id = try await fixture.hub.accounts.addServerKey(
            key.publicPEM, container: HubFixture.container, environment: "development")
        let path = "/database/1/iCloud.test/development/public/\(call)"
        let date = SignedDate.text(milliseconds: fixture.time.withLock { $0 })
        let message = RequestSignature.message(date: date, body: Array(body.utf8), path: path)
        return await send(
            method, path, Array(body.utf8),
            headers: [
                HubRequest.Header(WireHeader.keyID, id),
                HubRequest.Header(WireHeader.signedDate, date),
                HubRequest.Header(
                    WireHeader.signature, Data(try key.sign(message)).base64EncodedString()),
            ])
    }

    /// Saves a record by `forceUpdate` in the zone `Z`, unless told otherwise.
    func save(
        _ name: String, _ fields: String = "{}", kind: String = "forceUpdate", zone: String = "Z",
        more: String = "", type: String = "T"
    ) async -> Answer {
        await modify(
            """
            {"operationType":"\(kind)","record":{"recordName":"\(name)","recordType":"\(type)",
            "fields":\(fields)\(more)}}
            """, zone: zone)
    }

    /// Carries out operations, separated by commas.
    func modify(
        _ operations: String, zone: String = "Z", atomic: Bool = false, more: String = ""
    ) async -> Answer {
        await post(
            "private/records/modify",
            """
            {"operations":[\(operations)],"zoneID":{"zoneName":"\(zone)"},"atomic":\(atomic)\(more)}
            """)
    }

    func lookUp(_ name: String, zone: String = "Z") async -> JSONValue {
        await post(
            "private/records/lookup",
            #"{"records":[{"recordName":"\#(name)"}],"zoneID":{"zoneName":"\#(zone)"}}"#
        ).records.first ?? .null
    }

    func delete(_ name: String, zone: String = "Z") async -> Answer {
        await modify(
            #"{"operationType":"forceDelete","record":{"recordName":"\#(name)"}}"#, zone: zone)
    }

    /// Subscribes Ada.
    func subscribe(_ subscription: String, in database: String = "private") async -> Answer {
        await post(
            "\(database)/subscriptions/modify",
            #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#)
    }

    /// The path of a new courier of Ada's.
    func courier() async -> String {
        let token = await post("tokens/create", #"{"apnsEnvironment":"development"}"#)
        return Self.path(token.json["webcourierURL"].text)
    }

    /// What waits at a courier.
    func notifications(_ courier: String) async -> [JSONValue] {
        await fixture.tellAll()
        var notifications: [JSONValue] = []
        while true {
            let hasEnded = Locked(false)
            async let answer: Answer = {
                let answer = await send("GET", courier)
                hasEnded.withLock { $0 = true }
                return answer
            }()
            // A poll that waits has nothing to tell, and is let go.
            while !hasEnded.withLock({ $0 }) {
                if fixture.hub.mailboxes.waiterCount > 0 { fixture.hub.mailboxes.releaseAll() }
                await Task.yield()
            }
            let next = await answer
            if next.body.isEmpty { return notifications }
            notifications.append(next.json)
        }
    }

    /// The path of an address of the hub.
    static func path(_ url: String) -> String { String(url.dropFirst("http://127.0.0.1".count)) }
}

extension HubResponse.Body {
    /// The bytes, read from the file where it is one.
    var content: [UInt8] {
        switch self {
        case .bytes(let bytes): return bytes
        case .file(let path):
            return (try? Data(contentsOf: URL(fileURLWithPath: path))).map(Array.init) ?? []
        case .filePart(let path, let offset, let count):
            let all = (try? Data(contentsOf: URL(fileURLWithPath: path))).map(Array.init) ?? []
            return Array(all.dropFirst(offset).prefix(count))
        case .remote(let file):
            var bytes = file.start
            while let piece = try? file.readPiece(at: bytes.count), !piece.isEmpty {
                bytes += piece
            }
            return bytes
        }
    }
}
