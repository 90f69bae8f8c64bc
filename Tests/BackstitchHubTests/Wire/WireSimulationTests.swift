import BackstitchTesting
import Foundation
import PostgreSQLCluster
import TestBudget
import Testing

@testable import BackstitchHubCore

/// Devices and a hub that speak HTTP over ways that fail.
@Suite(.budgeted) struct WireSimulationTests {
    /// `WIRE_SEEDS=A..B` runs others.
    private static let seeds: ClosedRange<UInt64> = {
        let bounds = ProcessInfo.processInfo.environment["WIRE_SEEDS"]?.split(separator: "..")
            .compactMap { UInt64($0) }
        guard let bounds, let first = bounds.first, let last = bounds.last, first <= last else {
            return 1...16
        }
        return first...last
    }()

    @Test(.enabled(if: PostgreSQLCluster.isInstalled, "PostgreSQL is missing"))
    func `so it is with two hubs on one database`() async throws {
        for seed in Self.seeds.prefix(Load.triesEveryPoint ? 4 : 2) {
            let world = try await WireWorld(seed: seed, .postgreSQL)
            do {
                try await world.run(steps: 40)
            } catch {
                Issue.record("Seed \(seed): \(error)")
            }
        }
    }

    @Test func `whatever the network does, nothing is lost and all agree`() async throws {
        var injected: [WireFault: Int] = [:]
        for seed in Self.seeds {
            let world = try await WireWorld(seed: seed)
            do {
                try await world.run(steps: 40)
            } catch {
                Issue.record("Seed \(seed): \(error)")
            }
            injected.merge(world.injected, uniquingKeysWith: +)
        }
        for fault in WireFault.allCases {
            #expect(injected[fault, default: 0] > 0, "\(fault) never happened")
        }
    }
}
