import TestBudget
import Testing

@testable import BackstitchHubCore

@Suite("Whose turn it is", .budgeted)
struct FairQueueTests {
    @Test func `jobs of one client come in their order`() {
        var queue = FairQueue<Int>()
        for number in 0..<100 { queue.add(number, of: "a") }
        var taken: [Int] = []
        while let (client, job) = queue.next() {
            taken.append(job)
            queue.charge(5, to: client)
        }
        #expect(taken == Array(0..<100))
        #expect(queue.isEmpty && queue.clientCount == 0)
    }

    @Test func `a client that asks for little comes before one that asked for much`() {
        var queue = FairQueue<String>()
        for number in 0..<10 { queue.add("much \(number)", of: "a") }
        for _ in 0..<3 {
            guard let (client, _) = queue.next() else { return }
            queue.charge(1_000, to: client)
        }
        queue.add("little", of: "b")
        #expect(queue.next()?.job == "little")
    }

    @Test func `nobody gets twice the share of another who always asks`() {
        var queue = FairQueue<Int>()
        let costs = ["a": 1, "b": 10, "c": 100]
        for client in costs.keys { for number in 0..<3_000 { queue.add(number, of: client) } }
        var spent: [String: Int] = [:]
        while spent.values.reduce(0, +) < 5_000, let (client, _) = queue.next() {
            queue.charge(costs[client] ?? 0, to: client)
            spent[client, default: 0] += costs[client] ?? 0
        }
        let (least, most) = (spent.values.min() ?? 0, spent.values.max() ?? 0)
        #expect(most - least <= 300, "\(spent)")
    }

    @Test func `clients that come and go are forgotten`() {
        var queue = FairQueue<Int>()
        queue.add(0, of: "stays")
        _ = queue.next()
        for number in 0..<10_000 {
            queue.add(number, of: "client \(number)")
            if let (client, _) = queue.next() { queue.charge(1, to: client) }
        }
        #expect(queue.clientCount < 2_000)
    }

    @Test func `among equals who had less comes first, and not who came first`() {
        var queue = FairQueue<String>()
        for number in 0..<4 { queue.add("first", of: "old \(number)") }
        for _ in 0..<3 {
            guard let (client, _) = queue.next() else { return }
            queue.charge(10, to: client)
            queue.add("second", of: client)
        }
        // The fourth one runs, and then one of those that come again.
        #expect(queue.next()?.job == "first")
        #expect(queue.next()?.job == "second")
        queue.add("new", of: "new")
        #expect(queue.next()?.job == "new")
        #expect(queue.next()?.job == "second")
    }

    @Test func `strangers leave every second turn to who is signed in`() {
        var queue = FairQueue<String>()
        queue.add("first", of: "user")
        queue.add("try", of: "stranger 0", isAnonymous: true)
        guard let (client, job) = queue.next(), job == "first" else {
            Issue.record("The user came first.")
            return
        }
        queue.charge(1_000, to: client)
        queue.add("second", of: "user")
        var turns = 0
        // Each is another one, which has had nothing.
        for number in 1..<10 {
            queue.add("try", of: "stranger \(number)", isAnonymous: true)
            guard let (client, job) = queue.next(), job == "try" else { break }
            queue.charge(1, to: client)
            turns += 1
        }
        #expect(turns == 1)
    }

    @Test func `who is signed in takes nothing from strangers that had less`() {
        var queue = FairQueue<String>()
        for _ in 0..<6 { queue.add("much", of: "user") }
        for _ in 0..<2 { queue.add("little", of: "stranger", isAnonymous: true) }
        var jobs: [String] = []
        while let (client, job) = queue.next() {
            jobs.append(job)
            queue.charge(job == "much" ? 1_000 : 1, to: client)
        }
        #expect(jobs.prefix(4).filter { $0 == "little" }.count == 2)
        #expect(jobs.count == 8)
    }

    @Test func `jobs that are taken away leave the others in their order`() {
        var queue = FairQueue<Int>()
        for number in 0..<100 {
            queue.add(number, of: "\(number % 3)", isAnonymous: number % 3 == 0)
        }
        _ = queue.next()
        let gone = queue.removeAll { $0 % 2 == 0 || $0 % 3 == 1 }
        #expect(queue.count == 99 - gone.count)
        var taken: [Int: [Int]] = [:]
        while let (client, job) = queue.next() {
            taken[job % 3, default: []].append(job)
            queue.charge(1, to: client)
        }
        #expect(taken[0] == stride(from: 3, to: 100, by: 6).map { $0 })
        #expect(taken[1] == nil)
        #expect(taken[2] == stride(from: 5, to: 100, by: 6).map { $0 })
        let rest = queue.removeAll { _ in true }
        #expect(rest == [])
    }

    @Test func `who has the most places gives up the last one to who has fewer`() {
        var queue = FairLanes<String>()
        for (client, count) in ["a": 5, "b": 3] {
            for number in 0..<count { queue.add("\(client)\(number)", to: .page, of: client) }
        }
        #expect(queue.makeRoom(besides: 4, isAnonymous: false) == nil)
        #expect(queue.makeRoom(besides: 3, isAnonymous: false) == "a4")
        #expect(queue.makeRoom(besides: 3, isAnonymous: false) == nil)
        #expect(queue.makeRoom(besides: 0, isAnonymous: false) == "a3")
        let fourth = queue.makeRoom(besides: 0, isAnonymous: false)
        #expect(["a2", "b2"].contains(fourth))
        var taken: [String] = []
        while let (client, job) = queue.next(in: .page) {
            taken.append(job)
            queue.charge(1, to: client, in: .page)
        }
        #expect(taken.sorted() == ["a0", "a1", "a2", "b0", "b1", "b2"].filter { $0 != fourth })
        #expect(queue.makeRoom(besides: 0, isAnonymous: false) == nil)
        #expect(queue.count == 0 && queue.pages.clientCount == 0)
    }

    @Test func `a full queue has a place for each client that comes, until each has one`() {
        var queue = FairLanes<Int>()
        for number in 0..<64 {
            queue.add(number, to: .page, of: "first \(number % 4)", isAnonymous: true)
        }
        for number in 0..<60 {
            #expect(queue.makeRoom(besides: 0, isAnonymous: true) != nil)
            queue.add(number, to: .page, of: "later \(number)", isAnonymous: true)
        }
        #expect(queue.count == 64)
        #expect(queue.makeRoom(besides: 0, isAnonymous: true) == nil)
    }

    @Test func `strangers take no places of who is signed in`() {
        var queue = FairLanes<String>()
        for _ in 0..<9 { queue.add("user", to: .page, of: "user") }
        for _ in 0..<3 {
            queue.add("stranger", to: .page, of: "stranger", isAnonymous: true)
        }
        #expect(queue.makeRoom(besides: 0, isAnonymous: true) == "stranger")
        #expect(queue.makeRoom(besides: 1, isAnonymous: true) == nil)
        #expect(queue.makeRoom(besides: 1, isAnonymous: false) == "user")
        // Those that are refused or served meanwhile count no longer.
        #expect(queue.removeAll { $0 == "user" }.count == 8)
        #expect(queue.makeRoom(besides: 0, isAnonymous: false) == "stranger")
        #expect(queue.makeRoom(besides: 0, isAnonymous: false) == nil)
    }

    @Test func `a client has the places of its pages and scans together`() {
        var lanes = FairLanes<String>()
        for _ in 0..<20 {
            lanes.add("page", to: .page, of: "both")
            lanes.add("scan", to: .scan, of: "both")
        }
        for _ in 0..<30 { lanes.add("other", to: .page, of: "other") }
        #expect(lanes.waitingCount(of: "both") == 40)
        var gone: [String: Int] = [:]
        for _ in 0..<12 {
            gone[lanes.makeRoom(besides: 0, isAnonymous: false) ?? "none", default: 0] += 1
        }
        #expect(gone == ["scan": 6, "page": 5, "other": 1])
        #expect(lanes.waitingCount(of: "both") == 29 && lanes.waitingCount(of: "other") == 29)
        #expect(lanes.makeRoom(besides: 28, isAnonymous: false) == nil)
    }

    @Test func `the only job of a lane can be given up, and its client has a turn again later`() {
        var lanes = FairLanes<Int>()
        lanes.add(1, to: .page, of: "a", isAnonymous: true)
        lanes.add(2, to: .scan, of: "a", isAnonymous: true)
        #expect(lanes.makeRoom(besides: 0, isAnonymous: true) == 2)
        #expect(lanes.next(in: .scan) == nil)
        #expect(lanes.makeRoom(besides: 0, isAnonymous: true) == nil)
        lanes.add(3, to: .scan, of: "a", isAnonymous: true)
        #expect(lanes.next(in: .scan)?.job == 3)
        #expect(lanes.next(in: .page)?.job == 1)
        #expect(lanes.next(in: .scan) == nil)
        #expect(lanes.count == 0)
    }

    @Test func `a user's scan has every second turn of strangers' pages`() {
        var lanes = FairLanes<String>()
        for number in 0..<3 {
            lanes.add("user's scan", to: .scan, of: "user")
            lanes.add("scan", to: .scan, of: "first \(number)", isAnonymous: true)
        }
        func next(takesScans: Bool = true) -> String? {
            guard let (lane, client, job) = lanes.next(takesScans: takesScans) else { return nil }
            lanes.charge(1, to: client, in: lane)
            return job
        }
        var jobs: [String?] = []
        // Each is another one, which has had nothing.
        for number in 0..<6 {
            for _ in 0..<2 {
                lanes.add("page", to: .page, of: "stranger \(number)", isAnonymous: true)
            }
            jobs.append(next())
        }
        #expect(
            jobs == ["page", "user's scan", "page", "user's scan", "page", "user's scan"])
        // Users' pages come before all scans, and nothing comes before pages where scans have no place.
        lanes.add("user's scan", to: .scan, of: "user")
        lanes.add("user's page", to: .page, of: "other")
        while let job = next(takesScans: false) { jobs.append(job) }
        #expect(jobs.dropFirst(6).count { $0 == "page" } == 9 && jobs.contains("user's page"))
        jobs = []
        while let job = next() { jobs.append(job) }
        #expect(jobs.count == 4 && jobs.prefix(2).contains("user's scan"))
    }

    @Test func `what is taken away does not come any more`() {
        var queue = FairQueue<Int>()
        for number in 0..<10 { queue.add(number, of: "\(number % 3)") }
        #expect(queue.removeAll().sorted() == Array(0..<10))
        #expect(queue.next() == nil)
        queue.add(11, of: "1")
        #expect(queue.next()?.job == 11)
    }
}
