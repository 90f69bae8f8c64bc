import TestBudget
import Testing

@testable import BackstitchHubCore

/// A hub in service for months remembers no more than one that began an hour ago.
@Suite("What a hub keeps in memory", .budgeted)
struct MemoryBoundTests {
    @Test func `users who write no more are forgotten with their last answers`() {
        let (book, limits) = (LedgerIndex(), HubLimits())
        var now: Int64 = 1_700_000_000_000
        for user in 1...UInt64(10_000) {
            let partition = Partition(number: user)
            book.note(
                HubKey(partition, .ledger).adding(user), of: partition, bytes: 600,
                until: now + limits.ledgerMilliseconds, now: now)
            now += 1_000
        }
        // Those of the last ten minutes, and of the one until which the others stay.
        #expect((600...660).contains(book.ownerCount))
        let last = Partition(number: 10_000)
        #expect(book.excess(of: last, room: 0, bytesMax: 599, now: now).count == 1)
    }

    @Test func `files that records hold are not remembered for the time that others are kept`() {
        let (book, limits) = (UploadQuota(), HubLimits())
        let partition = Partition(number: 1)
        let user = HubKey(partition, .zone)
        for number in 0..<UInt64(20_000) {
            let address = HubKey(partition, .upload).adding([0]).adding(number)
            let receipt = HubKey(partition, .upload).adding([1]).adding(number)
            #expect(book.note([address], of: user, in: partition, limits, now: 0))
            let isTaken = book.take(
                address, receipt: receipt, upload: nil, bytes: 1, bytesLeft: nil,
                until: limits.unusedAssetMilliseconds)
            #expect(isTaken)
            // Each hundredth is kept, which a record never holds.
            if number % 100 != 0 { book.release(receipt) }
        }
        #expect(book.bytes(of: partition) == 200)
        #expect(book.noteCount < 3 * 200 + 1_024 + 8)
        // They still end in their time.
        let late = HubKey(partition, .upload).adding([2])
        let end = limits.unusedAssetMilliseconds
        #expect(book.note([late], of: user, in: partition, limits, now: end))
        #expect(book.bytes(of: partition) == 0)
    }

    @Test func `devices that listen no more are forgotten, and zones that were deleted`()
        async throws
    {
        let feeds = WatchedFeeds()
        let realm = RealmRow(number: 1, container: "c", environment: "e")
        func access(_ number: UInt64) -> DatabaseAccess {
            DatabaseAccess(
                realm: realm, scope: .own("\(number)"), principal: .user("\(number)"),
                partition: Partition(number: number))
        }
        func add(_ number: UInt64) {
            let position = WatchedFeeds.Position(database: 0, zones: [:])
            let listener = CourierListener(realm: 1, userRecordName: "\(number)")
            feeds.add([(access(number), position)], of: listener) { $0.userRecordName == "7" }
        }
        for number in 1...UInt64(10_000) { add(number) }
        #expect(feeds.counts.listeners <= 2 * 1_024 && feeds.counts.feeds <= 2 * 1_024)
        #expect(feeds.knows(CourierListener(realm: 1, userRecordName: "7")))
        #expect(!feeds.knows(CourierListener(realm: 1, userRecordName: "8")))

        let partition = Partition(number: 7)
        for number in UInt64(0)..<1_025 {
            #expect(feeds.position(of: partition)?.zones.count == Int(number))
            try await feeds.write(to: partition) { write in
                write.begin(
                    FeedStep(database: number..<number + 1, zones: ["z\(number)": 0..<1]))
            }
        }
        #expect(feeds.position(of: partition) == nil)
        #expect(!feeds.knows(CourierListener(realm: 1, userRecordName: "7")))
        add(7)
        #expect(feeds.position(of: partition)?.zones == [:])
    }
}
