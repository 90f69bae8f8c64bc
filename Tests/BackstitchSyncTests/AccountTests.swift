import Backstitch
import BackstitchCore
import BackstitchStore
import BackstitchSync
import BackstitchTesting
import Foundation
import TestBudget
import Testing

/// Users who sign out and in: data never mix, and no edit is lost.
@Suite(.budgeted) struct AccountTests {
    let cloud = SimulatedCloud()

    @Test(arguments: [true, false])
    func `a sign-out blocks, keeps everything, and goes on after the sign-in`(
        isAnnounced: Bool
    ) async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.sync()
        let user = try #require(phone.service.user)
        phone.service.switchUser(to: nil, announced: isAnnounced)
        try await phone.note("b", "while signed out")
        let error = await syncError { try await phone.sync() }
        #expect(error?.code == .blocked)
        #expect(error?.serviceError?.code == .notAuthenticated)
        #expect(phone.engine.status == .blocked(.notAuthenticated))
        #expect(try phone.titles().count == 2)
        #expect(try phone.engine.pendingRecords().map(\.record.name) == ["b"])
        phone.service.switchUser(to: user)
        try await phone.sync()
        #expect(remote(cloud).count == 2)
        try await phone.expectSettled()
    }

    @Test(arguments: [true, false])
    func `another user gets and gives nothing`(isAnnounced: Bool) async throws {
        let phone = try Device(cloud)
        try await phone.note("a", "one")
        try await phone.sync()
        #expect(try phone.engine.boundUser() == phone.service.user)
        try await phone.note("b", "pending")
        phone.service.switchUser(to: "eve", announced: isAnnounced)
        if !isAnnounced {
            // The service does not tell, so the application has to.
            await phone.engine.accountChanged()
        }
        #expect(await syncError { try await phone.sync() }?.serviceError?.code == .accountChanged)
        #expect(phone.engine.status == .blocked(.accountChanged))
        #expect(cloud.records(in: scenarioZone, user: "eve") == [])
        var lines = ""
        #expect(
            try phone.store.exportOutbox { lines += String(decoding: $0, as: UTF8.self) } == 1)
        #expect(lines.contains("pending"))
        await #expect(throws: SyncError.self) { try await phone.engine.destroyZone() }
        await phone.engine.stop()
    }

    // It counted as looked at, and the next round exchanged for whoever was signed in then.
    @Test func `news of the account that come while the user is asked for are looked at`()
        async throws
    {
        let phone = try Device(cloud)
        let engine = phone.engine
        let first = OneTime()
        phone.service.beforeReply = { info throws(ServiceError) in
            if info.kind == .currentUser, first.take() { await engine.accountChanged() }
        }
        try await phone.sync()
        try await phone.sync()
        #expect(cloud.requestCounts[.currentUser, default: 0] >= 2)
        await engine.stop()
    }

    @Test func `each user has a store of their own`() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/accounts-" + UUID().uuidString
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let stores = AccountStores(at: URL(filePath: folder + "/"))
        let names = ["_ada", "_eve", "../_ada", "", "_ADA"]
        let paths = names.map { stores.directory(ofUser: $0).path }
        #expect(Set(paths).count == names.count)
        #expect(paths == names.map { stores.directory(ofUser: $0).path })
        for path in paths {
            #expect(path.hasPrefix(folder + "/") && !path.contains("ada") && !path.contains(".."))
        }
        let store = try stores.open(user: "_ada", schema: scenarioSchema)
        try store.write { _ = try $0.save(Note(id: "a", title: "mine")) }
        store.close()
        let other = try stores.open(user: "_eve", schema: scenarioSchema)
        #expect(try other.read { try $0.fetch(Note.self) } == [])
        other.close()
        let again = try stores.open(user: "_ada", schema: scenarioSchema)
        #expect(try again.read { try $0.fetch(Note.self) }.count == 1)
        again.close()
    }

    @Test func `a folder that can't be made is told`() throws {
        #expect {
            try AccountStores(at: URL(filePath: "/dev/null/stores"))
                .open(user: "u", schema: scenarioSchema)
        } throws: { error in
            (error as? StoreError)?.code == .inaccessible
        }
    }
}
