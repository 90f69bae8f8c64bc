// swift-tools-version: 6.2
import Foundation
import PackageDescription

let strict: [CSetting] = [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]

let package = Package(
    name: "backstitch-benchmarks",
    products: [
        .executable(name: "backstitch-bench", targets: ["BackstitchBench"]),
        .executable(name: "raw-http", targets: ["RawHTTP"]),
    ],
    dependencies: [.package(name: "backstitch", path: "..")],
    targets: [
        .target(name: "PeerInterface", cSettings: strict),
        .target(
            name: "PeerLMDB", dependencies: ["PeerInterface"], cSettings: strict,
            linkerSettings: [.linkedLibrary("lmdb")]),
        .target(
            name: "PeerSQLite", dependencies: ["PeerInterface"], cSettings: strict,
            linkerSettings: [.linkedLibrary("sqlite3")]),
        .target(
            name: "PeerRocksDB", dependencies: ["PeerInterface"], cSettings: strict,
            linkerSettings: [.linkedLibrary("rocksdb")]),
        .executableTarget(
            name: "RawHTTP", cSettings: strict, linkerSettings: [.linkedLibrary("microhttpd")]),
        .target(name: "BenchmarkKit", dependencies: ["PeerInterface"]),
        .executableTarget(
            name: "BackstitchBench",
            dependencies: [
                "BenchmarkKit", "PeerInterface", "PeerLMDB", "PeerSQLite", "PeerRocksDB",
                .product(name: "Backstitch", package: "backstitch"),
                .product(name: "BackstitchService", package: "backstitch"),
                .product(name: "BackstitchViews", package: "backstitch"),
                // A service that takes what is pushed, so that the log may be compacted.
                .product(name: "BackstitchTesting", package: "backstitch"),
                .product(name: "CloudKitRecordService", package: "backstitch"),
            ]),
        .testTarget(
            name: "BenchmarkKitTests",
            dependencies: [
                "BenchmarkKit", "PeerInterface",
                // So that one build makes the command too.
                .product(name: "backstitch", package: "backstitch"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// Warnings are errors where BACKSTITCH_WARNINGS is "errors", and never for those who depend on this.
let strictness: [SwiftSetting] =
    ProcessInfo.processInfo.environment["BACKSTITCH_WARNINGS"] == "errors"
    ? [.treatAllWarnings(as: .error)] : []  // SE-0480

for target in package.targets where target.type != .system {
    target.swiftSettings =
        (target.swiftSettings ?? []) + [
            .enableUpcomingFeature("ExistentialAny"),  // SE-0335
            .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409
            .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444
            .enableUpcomingFeature("NonisolatedNonsendingByDefault"),  // SE-0461
        ] + strictness
}
