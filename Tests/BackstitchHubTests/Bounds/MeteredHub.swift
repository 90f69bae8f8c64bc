import BackstitchCore
import CloudKitWire
import Foundation
import Testing
import WireCrypto

@testable import BackstitchHubCore

/// A hub whose requests are metered.
struct MeteredHub {
    let fixture: HubFixture

    init(_ limits: HubLimits = HubLimits(), storage: (any HubStorage)? = nil) async throws {
        fixture = try await HubFixture(limits: limits, storage: storage)
        try await fixture.makeZones("z")
    }

    /// Sends a request as Ada, unless nobody or somebody else is named, and tells what it cost.
    @discardableResult
    func send(
        _ endpoint: Endpoint, in database: WireDatabase = .private,
        as user: HubAccounts.SignedInUser?? = nil,
        headers: [HubRequest.Header] = [], _ body: String
    ) async -> (status: Int, body: [UInt8], meter: RequestWork.Meter) {
        let user = user ?? fixture.ada
        let request = HubRequest(
            method: "POST", target: fixture.target(endpoint, in: database, as: user),
            headers: headers, body: Array(body.utf8))
        return await send(request)
    }

    /// Sends a request, which has no thread that others share without a cost.
    func send(
        _ request: HubRequest
    ) async -> (status: Int, body: [UInt8], meter: RequestWork.Meter) {
        let work = fixture.hub.makeWork(for: request)
        let before = fixture.hub.uncountedCount
        let response = await fixture.hub.respond(to: request, work)
        #expect(fixture.hub.uncountedCount == before, "\(request.callName) worked for nothing")
        guard case .bytes(let bytes) = response.body else {
            return (response.status, [], work.meter)
        }
        return (response.status, bytes, work.meter)
    }

    /// Saves records, 200 in a request.
    func save(
        _ count: Int, in database: WireDatabase = .private, zone: String? = "z",
        _ record: (Int) -> String
    ) async throws {
        for start in stride(from: 0, to: count, by: 200) {
            let operations = (start..<min(count, start + 200)).map {
                #"{"operationType":"create","record":\#(record($0))}"#
            }
            let zoneID = zone.map { #","zoneID":{"zoneName":"\#($0)"}"# } ?? ""
            let reply = await send(
                .modifyRecords, in: database,
                "{\"atomic\":false,\"operations\":[\(operations.joined(separator: ","))]\(zoneID)}")
            let text = String(decoding: reply.body, as: UTF8.self)
            try #require(
                reply.status == 200 && !text.contains("serverErrorCode"), "\(text.prefix(300))")
        }
    }

    /// A record in JSON.
    static func record(_ name: String, _ fields: String = "", type: String = "T") -> String {
        #"{"recordName":"\#(name)","recordType":"\#(type)","fields":{\#(fields)}}"#
    }

    static func text(_ name: String, _ value: String) -> String {
        #""\#(name)":{"value":"\#(value)","type":"STRING"}"#
    }

    static func reference(_ name: String, _ target: String, _ action: String) -> String {
        #""\#(name)":{"value":{"recordName":"\#(target)","action":"\#(action)"},"type":"REFERENCE"}"#
    }

    static let zoneID = #""zoneID":{"zoneName":"z"}"#
}

extension Hub {
    /// How many jobs of clients ran on shared threads without a cost.
    var uncountedCount: Int {
        let readers = (storage as? any SnapshotStorage)?.readers
        let pools = [
            threads.pages, threads.passwords, threads.disk, readers, assets.objects?.pool,
        ]
        return pools.reduce(0) { $0 + ($1?.uncountedCount ?? 0) }
    }
}
