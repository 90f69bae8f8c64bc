import BackstitchCore
import CloudKitWire
import Foundation
import TestBudget
import Testing
import Threading
import Waiting
import WireCrypto

@testable import BackstitchHub
@testable import BackstitchHubCore

@Suite("Two senders of one upload in parts", .budgeted)
struct UploadSendersTests {
    /// When the second sender comes. Each sends two parts.
    enum Moment: CaseIterable {
        case before
        case between
        /// Each part of the second one comes after the first one's.
        case crossing
        case taking
        case hashing
        case keeping
        case kept
        /// Both parts of the second one came before the first one sent any, and are added after its end.
        case overtaken
        case finished
        case saved

        /// Where the first one's end is held up.
        var step: PausingFiles.Step? {
            switch self {
            case .taking: .taking
            case .hashing: .hashing
            case .keeping: .keeping
            case .kept: .kept
            case .overtaken: .appending
            default: nil
            }
        }
    }

    struct Case: Sendable {
        let first: String
        let second: String
        let moment: Moment
    }

    private static let cases = [
        ("0123456789", "abcdefghij"), ("0123456789", "abcdefghijk"), ("abcdefghijk", "0123456789"),
    ].flatMap { first, second in
        Moment.allCases.map { Case(first: first, second: second, moment: $0) }
    }

    /// A sender of a whole content to an address.
    private struct Sender: Sendable {
        let fixture: HubFixture
        let path: String
        let content: [UInt8]

        func send(from offset: Int, to end: Int) async -> HubResponse {
            await fixture.hub.respond(
                to: HubRequest(
                    method: "PATCH", target: path,
                    headers: [
                        HubRequest.Header("Upload-Offset", "\(offset)"),
                        HubRequest.Header("Upload-Length", "\(content.count)"),
                    ], body: Array(content[offset..<end])))
        }

        func begin() async -> HubResponse { await send(from: 0, to: 4) }

        func end() async -> HubResponse { await send(from: 4, to: content.count) }

        /// Sends what is missing until the file is kept.
        func goOn() async throws -> HubResponse {
            for _ in 0..<3 {
                let head = await fixture.hub.respond(to: HubRequest(method: "HEAD", target: path))
                let offset = try #require(UploadSendersTests.offset(head))
                let reply = await send(from: offset, to: content.count)
                if UploadSendersTests.asset(reply) != nil { return reply }
            }
            throw HubError(.invalid, "The upload does not end.")
        }
    }

    private static func offset(_ response: HubResponse) -> Int? {
        response.headers.first { $0.isNamed("Upload-Offset") }.flatMap { Int($0.value) }
    }

    /// The file that an answer gives a receipt of.
    private static func asset(_ response: HubResponse) -> ServiceAsset? {
        guard response.status == 200, case .bytes(let body) = response.body,
            let asset = try? UploadedFileResponse(body: body).file, asset.receipt != nil
        else { return nil }
        return asset
    }

    private static func address(_ record: String, _ fixture: HubFixture) async throws -> String {
        let places = UploadRequest(
            places: [WireAssetPlace(recordName: record, fieldName: "f")], zoneID: WireZoneID("z"))
        let uploads: UploadTokensResponse = try await fixture.call(.uploadAssets, places)
        return HostileWorld.path(try #require(uploads.tokens.first).url)
    }

    private static func save(
        _ asset: ServiceAsset, in record: String, _ fixture: HubFixture
    ) async throws {
        let saved = try await fixture.modify(
            .init(.create, HubFixture.record(record, ["f": .asset(asset)])))
        #expect(saved.map(\.code) == [nil])
    }

    private static func inode(_ path: String) throws -> ino_t {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return status.st_ino
    }

    /// Has both senders send, and answers what each one was answered.
    private static func race(
        _ first: Sender, _ second: Sender, _ moment: Moment, _ files: PausingFiles
    ) async throws -> (first: [HubResponse], second: [HubResponse]) {
        switch moment {
        case .before:
            let others = await [second.begin(), second.end()]
            return (await [first.begin(), first.end()], others)
        case .between:
            let start = await first.begin()
            let others = await [second.begin(), second.end()]
            return ([start, await first.end()], others)
        case .crossing:
            let starts = (await first.begin(), await second.begin())
            let ends = (await first.end(), await second.end())
            return ([starts.0, ends.0], [starts.1, ends.1])
        case .taking, .hashing, .keeping, .kept:
            files.pause(at: moment.step)
            let start = await first.begin()
            async let end = first.end()
            try await eventually { files.pausedCount == 1 }
            let otherStart = await second.begin()
            guard first.content.count == second.content.count else {
                let refused = await second.end()
                #expect(refused.status == 409 && offset(refused) == nil, "\(refused)")
                files.goOn()
                return ([start, await end], [otherStart, refused])
            }
            // It waits for the first one's answer.
            async let otherEnd = second.end()
            files.goOn()
            return ([start, await end], [otherStart, await otherEnd])
        case .overtaken:
            files.pause(at: .appending, times: 2)
            async let start = second.begin()
            try await eventually { files.pausedCount == 1 }
            async let end = second.end()
            try await eventually { files.pausedCount == 2 }
            let own = await [first.begin(), first.end()]
            files.goOn(1)
            let startReply = await start
            files.goOn()
            return (own, [startReply, await end])
        case .finished, .saved:
            let own = await [first.begin(), first.end()]
            if moment == .saved {
                try await save(try #require(asset(own[1])), in: "a", first.fixture)
            }
            return (own, await [second.begin(), second.end()])
        }
    }

    @Test(arguments: StorageEngine.served, cases)
    func `one file is kept, under the digest of its bytes, and takes no other one's place`(
        engine: StorageEngine, of example: Case
    ) async throws {
        let fixture = try await HubFixture(
            storage: engine.storage(.patient),
            store: HubFileStore(open: { folder, _ in PausingFiles(folder) }, look: { _ in }))
        try await fixture.makeZones("z")
        let files = try #require(fixture.hub.assets as? PausingFiles)
        let partition = try fixture.partition(of: fixture.ada)
        // The second one's content is there already, for another record.
        let content = Array(example.second.utf8)
        let other = await fixture.hub.respond(
            to: HubRequest(
                method: "POST", target: try await Self.address("other", fixture), body: content))
        try await Self.save(try #require(Self.asset(other)), in: "other", fixture)
        let there = try #require(HubFile(partition, Digest.sha256(content).hexadecimal))
        let inode = try Self.inode(files.path(there))

        let path = try await Self.address("a", fixture)
        let first = Sender(fixture: fixture, path: path, content: Array(example.first.utf8))
        let second = Sender(fixture: fixture, path: path, content: content)
        let replies = try await Self.race(first, second, example.moment, files)
        var answered = [(first, replies.first), (second, replies.second)]
        if (replies.first + replies.second).allSatisfy({ Self.asset($0) == nil }) {
            answered.append((first, [try await first.goOn()]))
        }
        var assets: [ServiceAsset] = []
        for (sender, replies) in answered {
            for reply in replies {
                #expect([200, 409].contains(reply.status))
                if reply.status == 409, case .bytes(let body) = reply.body {
                    #expect(try WireError(body: body).code == .conflict)
                }
                guard let asset = Self.asset(reply) else { continue }
                #expect(asset.size == Int64(sender.content.count))
                assets.append(asset)
            }
        }
        let asset = try #require(assets.first)
        #expect(assets.allSatisfy { $0 == asset })
        let file = try #require(HubFile(partition, asset.fileChecksum ?? ""))
        let bytes = try files.read(file, 0..<20)
        #expect(Digest.sha256(bytes).hexadecimal == asset.fileChecksum)
        #expect(Int64(bytes.count) == asset.size)
        #expect(try Self.inode(files.path(there)) == inode)
        #expect(try files.read(there, 0..<20) == content)
        if example.moment != .saved { try await Self.save(asset, in: "a", fixture) }
        #expect(try fixture.wrongSpace() == [])
    }
}

/// Files of a folder that hold up the end of one upload.
final class PausingFiles: HubFiles {
    enum Step {
        case appending
        case taking
        case hashing
        case keeping
        case kept
    }

    private let files: any HubFiles
    private let state = Locked(State())

    private struct State {
        var step: Step?
        /// How many are still to be held up.
        var times = 0
        var pausedCount = 0
        /// How many of them may continue, in the order in which they came.
        var goingOn = 0
    }

    init(_ files: FolderFiles) { self.files = files }

    /// Holds up the next uploads that come to a step.
    func pause(at step: Step?, times: Int = 1) {
        state.withLock { state in
            state = State()
            (state.step, state.times) = (step, times)
        }
    }

    /// How many were held up so far.
    var pausedCount: Int { state.withLock { $0.pausedCount } }

    /// Lets the first ones that are held up continue, or all of them.
    func goOn(_ count: Int = .max) { state.withLock { $0.goingOn = count } }

    private func reach(_ step: Step) {
        let place: Int? = state.withLock { state in
            guard state.step == step, state.times > 0 else { return nil }
            state.times -= 1
            state.pausedCount += 1
            return state.pausedCount
        }
        if let place { blockUntil { state.withLock { $0.goingOn } >= place } }
    }

    func take(_ path: String, byteCount: Int, to place: String) throws -> Bool {
        reach(.taking)
        return try files.take(path, byteCount: byteCount, to: place)
    }

    func digest(ofUploadAt path: String) throws -> [UInt8] {
        reach(.hashing)
        return try files.digest(ofUploadAt: path)
    }

    func keep(_ path: String, as file: HubFile) throws {
        reach(.keeping)
        try files.keep(path, as: file)
        reach(.kept)
    }

    func beginServing() throws { try files.beginServing() }
    func endServing() { files.endServing() }
    func tryWriting() -> FileSpace { files.tryWriting() }
    func path(_ file: HubFile) -> String { files.path(file) }
    func byteCount(_ file: HubFile) throws -> Int? { try files.byteCount(file) }
    func read(_ file: HubFile, _ range: Range<Int>) throws -> [UInt8] {
        try files.read(file, range)
    }
    func remove(_ file: HubFile) throws -> Bool { try files.remove(file) }
    func removeAll(of partition: Partition) throws { try files.removeAll(of: partition) }
    func incomingPath(_ name: [UInt8]) -> String { files.incomingPath(name) }
    func write(_ bytes: [UInt8], to path: String) throws { try files.write(bytes, to: path) }
    func partsPath(_ name: [UInt8]) -> String { files.partsPath(name) }
    func uploadedBytes(at path: String) throws -> Int { try files.uploadedBytes(at: path) }
    func append(_ part: [UInt8], to path: String, at offset: Int) throws {
        reach(.appending)
        try files.append(part, to: path, at: offset)
    }
    func putBack(_ place: String, to path: String) { files.putBack(place, to: path) }
    func discard(_ path: String) { files.discard(path) }
}
