// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

import Foundation

/// The toolchain's own SwiftSyntax: modules and libraries that the compiler itself uses.
///
/// The manifest is compiled against `libPackageDescription.so` of the toolchain that builds the
/// package, at `usr/lib/swift/pm/ManifestAPI`; the host libraries lie beside it at
/// `usr/lib/swift/host`. Where the mapping can't be read, the `swift` on PATH tells.
func toolchainHostFolder() -> String {
    let mapped = (try? String(contentsOfFile: "/proc/self/maps", encoding: .utf8)) ?? ""
    for line in mapped.split(separator: "\n") where line.hasSuffix("/libPackageDescription.so") {
        guard let start = line.firstIndex(of: "/") else { continue }
        let library = URL(fileURLWithPath: String(line[start...]))
        let host = library.deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("host").path
        if FileManager.default.fileExists(atPath: host + "/SwiftSyntax.swiftmodule") { return host }
    }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    for folder in path.split(separator: ":") {
        let tool = URL(fileURLWithPath: folder + "/swift").resolvingSymlinksInPath()
        let host = tool.deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("lib/swift/host").path
        if FileManager.default.fileExists(atPath: host + "/SwiftSyntax.swiftmodule") { return host }
    }
    return "/usr/lib/swift/host"
}

let host = toolchainHostFolder()
let syntaxLibraries = [
    "SwiftSyntax", "SwiftSyntaxMacros", "SwiftSyntaxBuilder", "SwiftDiagnostics",
    "SwiftCompilerPluginMessageHandling", "SwiftParser", "SwiftSyntaxMacroExpansion",
    "SwiftBasicFormat",
]
let syntaxFlags: [SwiftSetting] = [.unsafeFlags(["-I", host])]
let syntaxLinking: [LinkerSetting] = [
    .unsafeFlags(
        ["-L", host, "-Xlinker", "-rpath", "-Xlinker", host] + syntaxLibraries.map { "-l\($0)" })
]

/// The files of Studio's page, which become part of the program.
let studioPage = [
    "index.html", "style.css", "favicon.svg", "app.js", "dom.js", "api.js", "values.js",
    "overview.js", "records.js", "record.js", "edit.js", "log.js", "outbox.js",
    "conflicts.js", "sync.js", "queries.js", "health.js", "hub.js",
]

let package = Package(
    name: "backstitch",
    products: [
        .library(name: "Backstitch", targets: ["Backstitch"]),
        .library(name: "BackstitchService", targets: ["BackstitchService"]),
        .library(name: "BackstitchViews", targets: ["BackstitchViews"]),
        .library(name: "BackstitchRepair", targets: ["BackstitchRepair"]),
        .library(name: "BackstitchTesting", targets: ["BackstitchTesting"]),
        .library(name: "BackstitchHub", targets: ["BackstitchHub"]),
        .library(name: "BackstitchHubBucket", targets: ["BackstitchHubBucket"]),
        .library(name: "BackstitchHubPostgreSQL", targets: ["BackstitchHubPostgreSQL"]),
        .library(name: "CloudKitRecordService", targets: ["CloudKitRecordService"]),
        .executable(name: "backstitch", targets: ["BackstitchCLI"]),
    ],
    targets: [
        .systemLibrary(name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(
            name: "CMicroHTTPD", pkgConfig: "libmicrohttpd",
            providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CMalloc"),
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "XXHash"),
        .target(name: "Threading"),
        .target(name: "LMDB", dependencies: ["CLMDB", "Threading", "XXHash"]),
        .target(name: "BackstitchCore", dependencies: ["XXHash"]),
        .target(name: "CloudKitWire", dependencies: ["BackstitchCore"]),
        .target(name: "WireCrypto", dependencies: ["COpenSSL"]),
        .target(
            name: "CloudKitRecordService",
            dependencies: [
                "BackstitchCore", "BackstitchSync", "CCurl", "CloudKitWire", "Threading",
                "WireCrypto",
            ]),
        .target(
            name: "BackstitchHubCore",
            dependencies: [
                "BackstitchCore", "CloudKitWire", "CZlib", "Threading", "WireCrypto", "XXHash",
            ]),
        .target(
            name: "BackstitchHub",
            dependencies: [
                "BackstitchHubCore", "CloudKitWire", "CMalloc", "CMicroHTTPD", "LMDB", "Threading",
                "WireCrypto",
            ],
            exclude: ["OpenAPI", "BOUNDS.md"]),
        .target(
            name: "BackstitchHubBucket",
            dependencies: [
                "BackstitchHub", "BackstitchHubCore", "CCurl", "Threading", "WireCrypto",
            ]),
        .target(
            name: "BackstitchHubPostgreSQL",
            dependencies: ["BackstitchHub", "BackstitchHubCore", "CPostgreSQL", "Threading"]),
        .target(
            name: "BackstitchMacroExpansion", swiftSettings: syntaxFlags,
            linkerSettings: syntaxLinking),
        .macro(
            name: "BackstitchMacros", dependencies: ["BackstitchMacroExpansion"],
            swiftSettings: syntaxFlags, linkerSettings: syntaxLinking),
        .target(
            name: "BackstitchLog", dependencies: ["BackstitchCore", "LMDB", "Threading", "XXHash"]),
        .target(
            name: "BackstitchStore",
            dependencies: ["BackstitchCore", "BackstitchLog", "LMDB", "Threading", "XXHash"]),
        .target(
            name: "BackstitchRepair",
            dependencies: [
                "BackstitchCore", "BackstitchLog", "BackstitchStore", "BackstitchSync", "LMDB",
                "Threading",
            ]),
        .target(
            name: "BackstitchViews",
            dependencies: ["BackstitchCore", "BackstitchLog", "BackstitchStore", "XXHash"]),
        .target(
            name: "BackstitchSync",
            dependencies: [
                "BackstitchCore", "BackstitchLog", "BackstitchStore", "LMDB", "Threading",
            ]),
        .target(
            name: "Backstitch",
            dependencies: [
                "BackstitchCore", "BackstitchLog", "BackstitchStore", "BackstitchSync",
                "BackstitchMacros",
            ]),
        .target(name: "BackstitchService", dependencies: ["BackstitchCore", "BackstitchSync"]),
        .target(
            name: "BackstitchTesting",
            dependencies: [
                "Backstitch", "BackstitchCore", "BackstitchService", "BackstitchStore",
                "BackstitchSync", "BackstitchMacros", "LMDB", "Threading",
            ]),
        .target(
            name: "BackstitchSimulation",
            dependencies: [
                "Backstitch", "BackstitchCore", "BackstitchStore", "BackstitchSync",
                "BackstitchTesting", "LMDB", "Threading",
            ]),
        .target(name: "Terminal", dependencies: ["Threading"]),
        .target(
            name: "BackstitchDemo",
            dependencies: [
                "Backstitch", "BackstitchCore", "BackstitchLog", "BackstitchSync",
                "BackstitchTesting", "CloudKitRecordService", "Terminal", "Threading",
            ],
            resources: [.embedInCode("countries.txt"), .embedInCode("subdivisions.txt")]),
        .target(
            name: "BackstitchStudio",
            dependencies: ["BackstitchHub", "BackstitchHubCore", "Threading", "WireCrypto"],
            resources: studioPage.map { .embedInCode("Page/" + $0) }),
        .executableTarget(
            name: "BackstitchCLI",
            dependencies: [
                "Backstitch", "BackstitchCore", "BackstitchDemo", "BackstitchHub",
                "BackstitchHubBucket", "BackstitchHubCore", "BackstitchHubPostgreSQL",
                "BackstitchLog", "BackstitchRepair", "BackstitchSimulation", "BackstitchStore",
                "BackstitchStudio",
                "BackstitchSync", "BackstitchTesting", "CMalloc",
                "CloudKitRecordService", "LMDB", "Terminal", "Threading",
            ]),
        .testTarget(name: "TidyTests", dependencies: ["TestBudget"]),
        .testTarget(
            name: "CloudKitWireTests",
            dependencies: ["CloudKitWire", "BackstitchCore", "BackstitchTesting", "TestBudget"]),
        .testTarget(
            name: "BackstitchHubTests",
            dependencies: [
                "BackstitchHub", "BackstitchHubBucket", "BackstitchHubCore", "Backstitch",
                "CloudKitRecordService", "BackstitchCore", "BackstitchSimulation",
                "BackstitchSync", "BackstitchViews", "BackstitchTesting",
                "BackstitchHubPostgreSQL", "CFaults", "CloudKitWire", "CrashStates", "CZlib",
                "LMDB", "PostgreSQLCluster", "RawConnection", "TestBudget", "Threading", "Waiting",
                "WireCrypto",
            ]),
        .testTarget(
            name: "BackstitchCoreTests", dependencies: ["BackstitchCore", "XXHash", "TestBudget"]),
        .target(name: "CFaults", dependencies: ["CLMDB"], path: "Tests/CFaults"),
        .target(
            name: "ChildProcess", dependencies: ["Terminal", "Threading"],
            path: "Tests/ChildProcess"),
        .target(
            name: "PostgreSQLCluster", dependencies: ["ChildProcess", "Waiting"],
            path: "Tests/PostgreSQLCluster"),
        .target(name: "RawConnection", path: "Tests/RawConnection"),
        .target(name: "Waiting", path: "Tests/Waiting"),
        .target(name: "SmallDisk", dependencies: ["ChildProcess"], path: "Tests/SmallDisk"),
        .target(
            name: "WriterHistory", dependencies: ["BackstitchTesting"],
            path: "Tests/WriterHistory"),
        .target(name: "CrashStates", dependencies: ["CFaults"], path: "Tests/CrashStates"),
        // The places that tests take, and the watch over what they use.
        .target(name: "TestBudget", dependencies: ["Threading"], path: "Tests/TestBudget"),
        .testTarget(
            name: "LMDBTests",
            dependencies: [
                "LMDB", "Threading", "XXHash", "CFaults", "CrashStates", "TestBudget", "Waiting",
            ]),
        .testTarget(
            name: "BackstitchTestingTests",
            dependencies: [
                "BackstitchTesting", "Threading", "BackstitchCore", "BackstitchSync", "TestBudget",
            ]),
        .testTarget(
            name: "BackstitchSimulationTests",
            dependencies: [
                "BackstitchSimulation", "BackstitchTesting", "Backstitch", "BackstitchCore",
                "BackstitchStore", "BackstitchSync", "TestBudget", "Threading", "Waiting",
            ],
            exclude: ["Scripts"]),
        .testTarget(
            name: "BackstitchMacrosTests",
            dependencies: ["BackstitchMacroExpansion", "TestBudget"],
            swiftSettings: syntaxFlags, linkerSettings: syntaxLinking),
        .executableTarget(
            name: "BackstitchKillHelper",
            dependencies: [
                "Backstitch", "BackstitchCore", "BackstitchViews", "BackstitchStore",
                "BackstitchSync", "CloudKitRecordService", "Waiting", "WriterHistory",
            ],
            path: "Tests/KillHelper"),
        .testTarget(
            name: "BackstitchKillTests",
            dependencies: [
                "Backstitch", "BackstitchStore", "BackstitchCore", "BackstitchKillHelper",
                "BackstitchTesting", "BackstitchViews", "ChildProcess", "LMDB", "SmallDisk",
                "TestBudget", "Waiting", "WriterHistory",
            ]),
        .testTarget(
            name: "BackstitchRaceTests",
            dependencies: [
                "Backstitch", "BackstitchStore", "BackstitchSync", "BackstitchTesting",
                "BackstitchViews", "LMDB", "TestBudget", "Threading",
            ]),
        .testTarget(
            name: "BackstitchFullDiskTests",
            dependencies: [
                "Backstitch", "BackstitchStore", "BackstitchSync", "BackstitchTesting",
                "SmallDisk", "TestBudget",
            ]),
        .testTarget(
            name: "BackstitchTests",
            dependencies: [
                "Backstitch", "BackstitchCore", "BackstitchHub", "BackstitchHubCore",
                "BackstitchSync", "BackstitchTesting", "BackstitchViews", "CloudKitRecordService",
                "TestBudget", "Threading",
            ]),
        .testTarget(
            name: "BackstitchSyncTests",
            dependencies: [
                "Backstitch", "BackstitchCore", "BackstitchLog", "BackstitchRepair",
                "BackstitchSimulation", "BackstitchStore", "BackstitchSync", "BackstitchTesting",
                "LMDB", "TestBudget", "Threading",
            ]),
        .testTarget(
            name: "BackstitchStoreTests",
            dependencies: [
                "Backstitch", "BackstitchCore", "BackstitchLog", "BackstitchRepair",
                "BackstitchStore", "BackstitchSync", "BackstitchTesting", "BackstitchViews",
                "CFaults", "CrashStates", "LMDB", "TestBudget", "Threading", "Waiting", "XXHash",
            ],
            exclude: ["Fixtures"]),
        .testTarget(
            name: "BackstitchCLITests",
            dependencies: [
                "BackstitchCLI", "Backstitch", "BackstitchCore", "BackstitchDemo", "BackstitchHub",
                "BackstitchHubCore", "BackstitchKillHelper", "BackstitchSimulation",
                "BackstitchTesting", "BackstitchViews", "ChildProcess", "CloudKitRecordService",
                "LMDB", "PostgreSQLCluster", "RawConnection", "SmallDisk", "Terminal",
                "TestBudget", "Threading", "Waiting",
            ]),
    ],
    swiftLanguageModes: [.v6]
)

// BACKSTITCH_TESTS names test targets, with commas between them, or only files of one, as in
// "LMDBTests:WriterThreadTests+Fixture". Then the package is these and the targets they need, and
// nothing else is built: for a sanitizer that takes one part of the tests.
if let chosen = ProcessInfo.processInfo.environment["BACKSTITCH_TESTS"] {
    let targets = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0) })
    func name(_ dependency: Target.Dependency) -> String? {
        if case .byNameItem(let name, _) = dependency { name } else { nil }
    }
    var needed: Set<String> = []
    func need(_ name: String) {
        guard let target = targets[name], needed.insert(name).inserted else { return }
        for case .byNameItem(let name, _) in target.dependencies { need(name) }
    }
    for part in chosen.split(separator: ",").map({ $0.split(separator: ":") }) {
        guard let target = targets[String(part[0])] else {
            fatalError("BACKSTITCH_TESTS: there is no target '\(part[0])'.")
        }
        if part.count > 1 {
            let files = part[1].split(separator: "+").map { $0 + ".swift" }
            let folder = Context.packageDirectory + "/Tests/\(target.name)/"
            let imported = Set(
                files.flatMap { file in
                    let text = (try? String(contentsOfFile: folder + file, encoding: .utf8)) ?? ""
                    return text.split(separator: "\n").filter { $0.contains("import ") }
                        .compactMap { $0.split(separator: " ").last.map(String.init) }
                })
            target.sources = files.map(String.init)
            target.exclude = []
            target.dependencies.removeAll { !imported.contains(name($0) ?? "") }
        }
        need(target.name)
    }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products = []
}

// Warnings are errors where BACKSTITCH_WARNINGS is "errors", and never for those who depend on this.
let strictness: [SwiftSetting] =
    ProcessInfo.processInfo.environment["BACKSTITCH_WARNINGS"] == "errors"
    ? [.treatAllWarnings(as: .error)] : []  // SE-0480

// Modules in which each use of memory without checks says `unsafe`.
let checked: Set = [
    "Backstitch", "BackstitchCLI", "BackstitchCore", "BackstitchDemo", "BackstitchHubBucket",
    "BackstitchHubCore", "BackstitchHubPostgreSQL", "BackstitchLog", "BackstitchMacroExpansion",
    "BackstitchMacros", "BackstitchRepair", "BackstitchService", "BackstitchSimulation",
    "BackstitchStore", "BackstitchStudio", "BackstitchSync", "BackstitchTesting",
    "BackstitchViews", "CloudKitRecordService", "CloudKitWire", "Terminal", "XXHash",
]

for target in package.targets where target.type != .system {
    target.swiftSettings =
        (target.swiftSettings ?? []) + [
            .enableUpcomingFeature("ExistentialAny"),  // SE-0335
            .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409
            .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444
            .enableUpcomingFeature("NonisolatedNonsendingByDefault"),  // SE-0461
        ] + (checked.contains(target.name) ? [.strictMemorySafety()] : [])  // SE-0458
        + strictness
}
