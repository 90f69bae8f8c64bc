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

    @Test func `what is taken away does not come any more`() {
        var queue = FairQueue<Int>()
        for number in 0..<10 { queue.add(number, of: "\(number % 3)") }
        #expect(queue.removeAll().sorted() == Array(0..<10))
        #expect(queue.next() == nil)
        queue.add(11, of: "1")
        #expect(queue.next()?.job == 11)
    }
}
