import Foundation
import TestBudget
import Testing

/// Which module may know what. ARCHITECTURE.md states these boundaries.
@Suite(.budgeted) struct BoundaryTests {
    private static let sources = Repository.swiftFiles(in: "Sources")

    private static func sources(besides modules: Set<String>) -> [SourceFile] {
        sources.filter { file in
            !modules.contains { file.path.hasPrefix("Sources/\($0)/") || file.path.hasSuffix($0) }
        }
    }

    @Test func `every target declares what it imports`() throws {
        let text = try #require(SourceFile(path: "Package.swift")).text
        let targets = try Manifest(text).targets
        #expect(targets.count > 30)
        let names = Set(targets.map(\.name))
        let undeclared = targets.flatMap { target in
            Repository.swiftFiles(in: target.folder).flatMap { file in
                file.imports.intersection(names).subtracting(target.dependencies)
                    .subtracting([target.name]).map { "\(file.path) imports \($0)" }
            }
        }
        #expect(undeclared == [])
    }

    @Test func `threads, mutexes and conditions are made by Threading`() {
        let found = Self.sources(besides: ["Threading"]).flatMap {
            $0.lines(with: [
                "pthread_create", "pthread_mutex", "pthread_cond", "DispatchSemaphore",
                "detachNewThread", "DispatchQueue",
            ])
        }
        #expect(found == [])
    }

    /// A child process has the opened file too until it runs its own program, and with it the lock.
    @Test func `who locks a file gives the lock back before the file is closed`() {
        let journal = "Sources/LMDB/JournalFile.swift"
        let locking = Self.sources.filter { !$0.lines(with: ["LOCK_EX", "LOCK_SH"]).isEmpty }
        #expect(locking.count > 6)
        let found = locking.filter { $0.path != journal && !$0.text.contains("close(locked:") }
        #expect(found.map(\.path) == [])
        let own = Self.sources.filter { !$0.lines(with: ["LOCK_UN"]).isEmpty }.map(\.path)
        #expect(own.sorted() == ["Sources/LMDB/FileLease.swift", journal])
    }

    @Test func `what is behind a lock is no closure by itself`() {
        let files = Self.sources + Repository.swiftFiles(in: "Tests")
        let found = files.flatMap { file -> [String] in
            // Few files have one, and the search in all lines takes long.
            guard file.text.contains("Locked<") else { return [] }
            return file.code.filter { $0.line.contains(/Locked<[^<>]*->/) }
                .map { "\(file.path):\($0.number)" }
        }
        #expect(found == [])
    }

    @Test func `decisions know no clock, no chance and no task`() {
        let pure = [
            "Sources/BackstitchCore/", "Sources/BackstitchSync/EngineMachine",
            "Sources/BackstitchSync/Round.swift", "Sources/BackstitchSync/RestState.swift",
            "Sources/BackstitchSync/StepFailure.swift", "Sources/BackstitchSync/WaitingCalls.swift",
        ]
        let found = Self.sources.filter { source in pure.contains { source.path.hasPrefix($0) } }
            .flatMap {
                $0.lines(with: [
                    "clock_gettime", "Date()", "Date.now", "ContinuousClock", "UUID()",
                    "SystemRandomNumberGenerator", "Task {", "Task.sleep", "await ", "FileManager",
                ])
            }
        #expect(found == [])
    }

    /// Programs tell the time they took; libraries take time and chance as values.
    @Test func `libraries have the time and chance of one file each`() {
        let programs: Set = ["BackstitchCLI", "BackstitchDemo", "Terminal"]
        let sources: Set = [
            "Threading/Monitor.swift", "BackstitchLog/LiveValues.swift",
            "BackstitchLog/SystemClock.swift", "Folder/HubClock+System.swift",
            "Server/ConnectionTable.swift", "CloudKitRecordService/CloudKitConnection.swift",
            "CloudKitRecordService/CloudKitRecordService+Records.swift",
            // How long a run takes, rests between looks at it, and where its stores are: no run depends on them.
            "BackstitchSimulation/Simulation.swift", "BackstitchSimulation/SimulationSummary.swift",
            "World/SimulationWorld.swift",
            "LMDB/JournalChance.swift",
            // Waits for what other threads or clients do.
            "LMDB/CommitWatch.swift", "Server/MicroHTTPDServer.swift",
        ]
        let found = Self.sources(besides: programs.union(sources)).flatMap {
            $0.lines(with: [
                "clock_gettime", "gettimeofday", "Date()", "Date.now", "ContinuousClock",
                "SuspendingClock", "DispatchTime", "Task.sleep", "usleep(", "getrandom",
                "SystemRandomNumberGenerator", " UUID()", "(UUID()", ".random(in",
                ".randomElement()", ".shuffled()",
            ])
        }
        #expect(found == [])
    }

    /// Names of clocks of the machine, and of pauses.
    private static let clocks = [
        "ContinuousClock", "SuspendingClock", "Date.now", "timeIntervalSinceNow", "DispatchTime",
        "clock_gettime", "gettimeofday", "systemUptime", "usleep(", "nanosleep(", "Task.sleep",
        "Thread.sleep", "wait(timeout", "asyncAfter", "makeTimerSource", "SO_RCVTIMEO",
        "SO_SNDTIMEO", "cond_timedwait", "silenceMilliseconds: ", "alarm(",
    ]

    /// The files of tests that have such a name, and why. None fails because a machine is busy: a pause that is too short has a fault
    /// missed, and no more.
    private static let testsWithClocks = [
        "Tests/Waiting/Waiting.swift": "the pauses of all that waits for a condition",
        "Tests/TestBudget/TestWatch.swift":
            "the rests between looks at all tests, which are counted",
        "Tests/ChildProcess/ChildProcess.swift": "the moment of a kill, which is left to chance",
        "Tests/RawConnection/RawConnection.swift":
            "moments for a server that may say nothing, and between looks at its connections",
        "Tests/BackstitchRaceTests/Jitter.swift": "threads dawdle at marked points by chance",
        "Tests/BackstitchRaceTests/Models.swift": "the long form of the races has so many seconds",
        "Tests/BackstitchKillTests/Helper.swift": "the moment of a close, which is left to chance",
        "Tests/BackstitchKillTests/KillTests.swift": "moments in which a disk is full and is not",
        "Tests/BackstitchCLITests/StudioCallTests.swift":
            "a moment in which a server that waits is silent",
        "Tests/BackstitchHubTests/Hostile/HostileHeadTests.swift":
            "moments between the pieces of a head",
        "Tests/BackstitchHubTests/Hostile/HubFuzzTests.swift":
            "moments between single bytes, and for the answer to a broken request",
        "Tests/BackstitchHubTests/PostgreSQL/CuttingProxy.swift": "a commit comes late by chance",
        "Tests/BackstitchHubTests/Storage/StorageConformanceTests.swift":
            "moments in which a storage looks for what others wrote",
        "Tests/BackstitchStoreTests/ForkTests.swift":
            "a child that waits for ever ends after ten minutes",
        "Tests/LMDBTests/JournalTests.swift":
            "a moment in which a record is on disk and can't be seen",
        "Tests/LMDBTests/JournalCrashTests.swift":
            "moments in which what waits is applied by itself",
        "Tests/BackstitchTests/GuideTests.swift": "records of today, as the guide has them",
    ]

    /// Tests wait for conditions and count work. One that needs a clock all the same is on the list, with its reason.
    @Test func `few tests read a clock or sleep, each for a reason`() {
        let files = Repository.swiftFiles(in: "Tests")
        #expect(files.count > 400)
        let found = files.filter { file in
            // Few files have one of the texts at all.
            let texts = Self.clocks + ["Date()", "poll(&", "hasNews("]
            return texts.contains { file.text.contains($0) }
                && file.code.contains { _, line in
                    // A text in quotes is no code.
                    let code = line.split(separator: "\"", omittingEmptySubsequences: false)
                        .enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element).joined()
                    return Self.clocks.contains { code.contains($0) }
                        || code.contains(/\bDate\(\)/)
                        || code.contains(/\bpoll\(&(?!.*, (-1|0)\))/)
                        || code.contains(/hasNews\(milliseconds: [1-9]/)
                }
        }
        let paths = Set(found.map(\.path))
        let known = Set(Self.testsWithClocks.keys)
        #expect(paths.subtracting(known).sorted() == [], "wait for a condition, or say why not")
        #expect(known.subtracting(paths).sorted() == [], "take these off the list")
    }

    /// Without that, all tests of a suite begin at once.
    @Test func `every suite takes places of the budget`() {
        let found = Repository.swiftFiles(in: "Tests").filter { file in
            file.text.split(separator: "\n@Suite").dropFirst().contains { suite in
                !suite.prefix { $0 != "{" }.contains(".budgeted")
            }
        }
        #expect(found.map(\.path) == [])
    }

    /// Folders that read and write bytes where they lie, or call the system or a C library. What is
    /// elsewhere goes without pointers.
    private static let folders: Set = [
        "BackstitchHubBucket/HTTP", "BackstitchHubPostgreSQL/Connection",
        "BackstitchCLI/Console", "BackstitchCLI/Hub", "BackstitchCore/Bytes",
        "BackstitchCore/Fields", "BackstitchCore/Hashing", "BackstitchCore/Identity",
        "BackstitchCore/JSON",
        "BackstitchCore/Log", "BackstitchCore/Query",
        "BackstitchCore/Salvage", "BackstitchCore/Schema", "BackstitchCore/Service",
        "BackstitchCore/Values", "BackstitchDemo", "BackstitchHub/Folder", "BackstitchHub/Server",
        "BackstitchHubCore/Calls", "BackstitchHubCore/Records", "BackstitchHubCore/Requests",
        "BackstitchHubCore/Rows", "BackstitchHubCore/Storage", "BackstitchHubCore/Upkeep",
        "BackstitchLog", "BackstitchLog/Compaction", "BackstitchLog/Counts",
        "BackstitchLog/Reading", "BackstitchLog/Tables", "BackstitchLog/Writing",
        "BackstitchRepair", "BackstitchSimulation/Entities", "BackstitchStore",
        "BackstitchStore/Contents",
        "BackstitchStore/Dynamic", "BackstitchStore/Observation", "BackstitchStore/Opening",
        "BackstitchStore/Projections", "BackstitchStore/Reading",
        "BackstitchStore/Verification", "BackstitchStore/Views", "BackstitchStore/Writing",
        "BackstitchSync/Journal", "BackstitchSync/Outbox", "BackstitchViews/Text",
        "BackstitchViews/Totals",
        "CloudKitRecordService/HTTP", "CloudKitWire/JSON", "CloudKitWire/Requests",
        "CloudKitWire/Values", "LMDB", "LMDB/Inspection", "Terminal", "Threading", "WireCrypto",
        "XXHash",
    ]

    @Test func `pointers are in few folders`() {
        let found = Self.sources.filter { file in
            file.code.contains {
                $0.line.contains("Unsafe") || $0.line.contains("unsafeBitCast")
            }
        }
        let folders = found.map { $0.path.split(separator: "/").dropFirst().dropLast().prefix(2) }
        let names = Set(folders.map { $0.joined(separator: "/") })
        #expect(names.subtracting(Self.folders).sorted() == [], "these go without pointers")
        #expect(
            Self.folders.subtracting(names).sorted() == [], "take these off the list of folders")
    }

    @Test func `the core of the hub knows no disk, no socket and no machine`() {
        let core = Self.sources.filter { $0.path.hasPrefix("Sources/BackstitchHubCore/") }
        #expect(core.count > 80)
        let known: Set = [
            "BackstitchCore", "CloudKitWire", "CZlib", "Foundation", "Synchronization", "Threading",
            "WireCrypto", "XXHash",
        ]
        let imports = core.flatMap { file in
            file.imports.subtracting(known).map { "\(file.path) imports \($0)" }
        }
        #expect(imports == [])
        // What Foundation has of the machine.
        let found = core.flatMap {
            $0.lines(with: [
                "FileManager", "FileHandle", "fileURLWithPath", "Data(contentsOf",
                "String(contentsOf", "Process(",
                "ProcessInfo", " Thread.", "URLSession", "SecretBytes",
            ])
        }
        #expect(found == [])
    }

    @Test func `what a hub keeps its rows in knows no row`() {
        let storage = Self.sources.filter {
            $0.path.hasPrefix("Sources/BackstitchHubCore/Storage/")
        }
        #expect(storage.count > 3)
        let found = storage.flatMap { file in
            file.code.filter { $0.line.contains(/[a-z]Row\b|StoredRecord|\bHub\b/) }
                .map { "\(file.path):\($0.number)" }
        }
        #expect(found == [])
    }

    @Test func `what speaks to libpq is one module, which the command alone links`() throws {
        let found = Self.sources(besides: ["BackstitchHubPostgreSQL"]).flatMap { file in
            file.imports.contains("CPostgreSQL") ? [file.path] : []
        }
        #expect(found == [])
        let text = try #require(SourceFile(path: "Package.swift")).text
        let linking = try Manifest(text).targets
            .filter { $0.dependencies.contains("BackstitchHubPostgreSQL") }.map(\.name)
        #expect(linking.sorted() == ["BackstitchCLI", "BackstitchHubTests"])
    }

    @Test func `what speaks to libcurl are two modules, and hubs go without`() throws {
        let found = Self.sources(besides: ["BackstitchHubBucket", "CloudKitRecordService"])
            .flatMap { $0.imports.contains("CCurl") ? [$0.path] : [] }
        #expect(found == [])
        let text = try #require(SourceFile(path: "Package.swift")).text
        let linking = try Manifest(text).targets
            .filter { $0.dependencies.contains("BackstitchHubBucket") }.map(\.name)
        #expect(linking.sorted() == ["BackstitchCLI", "BackstitchHubTests"])
    }

    @Test func `what speaks to LMDB is the module LMDB`() {
        let found = Self.sources(besides: ["LMDB"]).flatMap { file in
            file.imports.contains("CLMDB") ? [file.path] : []
        }
        #expect(found == [])
    }
}
