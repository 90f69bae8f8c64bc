import BackstitchCore
import TestBudget
import Testing

@Suite(.budgeted) struct BackoffTests {
    private let network = ServiceError(.network)

    @Test func `waits double up to the cap`() {
        var backoff = Backoff()
        let longest = (0..<12).map { _ in backoff.failed(network, random: 0.999_999) }
        var full = Backoff.firstMilliseconds
        for wait in longest {
            #expect(wait <= full && wait >= full - 2)
            full = min(full * 2, Backoff.longestMilliseconds)
        }
    }

    @Test func `chance takes half of a wait at most`() {
        var backoff = Backoff()
        #expect(backoff.failed(network, random: 0) == Backoff.firstMilliseconds / 2)
        for _ in 0..<100 { _ = backoff.failed(network, random: 0) }
        #expect(backoff.failed(network, random: 0) == Backoff.longestMilliseconds / 2)
    }

    @Test func `a success starts over`() {
        var backoff = Backoff()
        for _ in 0..<5 { _ = backoff.failed(network, random: 0) }
        backoff.succeeded()
        #expect(backoff == Backoff())
    }

    @Test(arguments: [(0.25, 250), (30, 30_000), (1e9, Backoff.askedMillisecondsMax)])
    func `what the service asks for wins`(seconds: Double, wait: Int64) {
        var backoff = Backoff()
        let error = ServiceError(.rateLimited, retryAfterSeconds: seconds)
        #expect(backoff.failed(error, random: 0.5) == wait)
    }

    @Test(arguments: [0, -5, Double.infinity, Double.nan])
    func `a wish that makes no sense is not one`(seconds: Double) {
        var backoff = Backoff()
        let error = ServiceError(.rateLimited, retryAfterSeconds: seconds)
        #expect(backoff.failed(error, random: 0) == Backoff.firstMilliseconds / 2)
    }
}
