import Foundation
import TestBudget
import Testing
import WireCrypto

@testable import BackstitchHub
@testable import BackstitchHubBucket
@testable import BackstitchHubCore

/// What a hub's files promise, wherever they are.
@Suite("Files of a hub", .budgeted) struct FilesConformanceTests {
    enum Place: CaseIterable {
        case folder
        case memory
        case bucket
    }

    /// Files that go at the end of the test.
    private final class Kept {
        let files: any HubFiles
        private let place: Place
        private let server: BucketServer?
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("files-\(UUID().uuidString)").path

        init(_ place: Place) throws {
            if place != .memory {
                try FileManager.default.createDirectory(
                    atPath: folder, withIntermediateDirectories: true)
            }
            self.place = place
            server = place == .bucket ? try BucketServer() : nil
            files = place == .memory ? MemoryHubFiles() : try Self.open(folder, server)
        }

        /// The file with a content, as the hub would have it kept.
        func file(_ content: some Collection<UInt8>, in number: UInt64 = 1) throws -> HubFile {
            let checksum = Digest.sha256(Array(content)).hexadecimal
            var file = try #require(HubFile(Partition(number: number), checksum))
            if place == .bucket {
                file.object = HubFile.Object(name: "0a", byteCount: content.count)
            }
            return file
        }

        func file(_ text: String, in number: UInt64 = 1) throws -> HubFile {
            try file(text.utf8, in: number)
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        /// The files as the next hub has them.
        func reopened() throws -> any HubFiles {
            place == .memory ? files : try Self.open(folder, server)
        }

        private static func open(
            _ folder: String, _ server: BucketServer?
        ) throws -> any HubFiles {
            let store = try server.map { HubFileStore(try $0.bucket()) }
            return try store.files(over: FolderFiles(folder: folder + "/assets", of: folder))
        }
    }

    private static func keep(_ text: String, as file: HubFile, _ files: any HubFiles) throws {
        let path = files.incomingPath(Array(text.utf8))
        try files.write(Array(text.utf8), to: path)
        try files.keep(path, as: file)
    }

    @Test(arguments: Place.allCases)
    func `what is kept is there, in its partition alone`(place: Place) throws {
        let kept = try Kept(place)
        let files = kept.files
        defer { withExtendedLifetime(kept) {} }
        let (here, there) = (try kept.file("abc"), try kept.file("abc", in: 2))
        #expect(try files.byteCount(here) == nil && !files.holds(here))
        try Self.keep("abc", as: here, files)
        #expect(try files.byteCount(here) == 3 && !files.holds(there))
        try Self.keep("abc", as: there, files)
        // The same once more is no failure.
        try Self.keep("abc", as: there, files)
        #expect(try files.remove(here) && files.remove(here))
        #expect(try !files.holds(here) && files.holds(there))
        #expect(throws: (any Error).self) {
            try files.keep(files.incomingPath([9]), as: here)
        }
    }

    @Test(arguments: Place.allCases)
    func `bytes of a file are read as far as it goes`(place: Place) throws {
        let kept = try Kept(place)
        let files = kept.files
        defer { withExtendedLifetime(kept) {} }
        let file = try kept.file("0123456789")
        try Self.keep("0123456789", as: file, files)
        for (range, text) in [
            (0..<10, "0123456789"), (0..<1, "0"), (9..<10, "9"), (3..<7, "3456"), (8..<20, "89"),
            (10..<12, ""), (30..<40, ""), (4..<4, ""),
        ] {
            #expect(String(decoding: try files.read(file, range), as: UTF8.self) == text)
        }
        #expect(throws: (any Error).self) { try files.read(kept.file("none"), 0..<1) }
    }

    @Test(arguments: Place.allCases)
    func `an upload in parts goes on where it stood, also with the next hub`(place: Place) throws {
        let kept = try Kept(place)
        let file = try kept.file("0123456789")
        let path = kept.files.partsPath([1])
        #expect(try kept.files.uploadedBytes(at: path) == 0)
        try kept.files.append(Array("0123".utf8), to: path, at: 0)
        let cut = kept.files.incomingPath([2])
        try kept.files.write([1], to: cut)
        kept.files.endServing()
        let next = try kept.reopened()
        try next.beginServing()
        #expect(try next.uploadedBytes(at: path) == 4)
        // What came in one piece and was cut is gone.
        #expect(throws: (any Error).self) { try next.keep(cut, as: file) }
        #expect(throws: PartGap(uploadedBytes: 4)) {
            try next.append(Array("6789".utf8), to: path, at: 6)
        }
        #expect(try next.uploadedBytes(at: path) == 4)
        try next.append(Array("45x".utf8), to: path, at: 4)
        // It comes again, and is another one.
        try next.append(Array("4567".utf8), to: path, at: 4)
        #expect(try next.uploadedBytes(at: path) == 8)
        try next.append([], to: path, at: 8)
        try next.append(Array("89".utf8), to: path, at: 8)
        try next.keep(path, as: file)
        #expect(try next.uploadedBytes(at: path) == 0)
        #expect(try next.read(file, 0..<20) == Array("0123456789".utf8))
        next.endServing()
    }

    @Test(arguments: Place.allCases)
    func `the digest of an upload is that of its bytes, however they came`(place: Place) throws {
        let kept = try Kept(place)
        let path = kept.files.partsPath([1])
        func expect(_ text: String, _ files: any HubFiles) throws {
            #expect(try files.digest(ofUploadAt: path) == Digest.sha256(Array(text.utf8)))
            #expect(try files.uploadedBytes(at: path) == text.utf8.count)
        }
        func append(_ text: String, at offset: Int, _ files: any HubFiles) throws {
            try files.append(Array(text.utf8), to: path, at: offset)
        }
        try append("0123", at: 0, kept.files)
        try append("45", at: 4, kept.files)
        try expect("012345", kept.files)
        // It is asked for again, goes on, and goes back.
        try expect("012345", kept.files)
        try append("67", at: 6, kept.files)
        try expect("01234567", kept.files)
        try append("ab", at: 0, kept.files)
        try append("cdef", at: 2, kept.files)
        try append("cdef", at: 2, kept.files)
        try append("xy", at: 4, kept.files)
        try append("z", at: 6, kept.files)
        try expect("abcdxyz", kept.files)
        // The next hub knows nothing of the parts before.
        try append("0123", at: 0, kept.files)
        kept.files.endServing()
        let next = try kept.reopened()
        try append("4", at: 4, next)
        try append("5", at: 5, next)
        try expect("012345", next)
    }

    /// What two hubs are sent whose senders did not hear of the first time.
    @Test(arguments: Place.allCases)
    func `parts of an upload that come to two hubs at once leave it whole`(place: Place)
        async throws
    {
        let kept = try Kept(place)
        defer { withExtendedLifetime(kept) {} }
        let hubs = [kept.files, try kept.reopened()]
        let (partBytes, parts) = (5_000, 40)
        let whole = (0..<partBytes * parts).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let path = kept.files.partsPath([1])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sender in 0..<4 {
                group.addTask {
                    var (next, step) = (0, 0)
                    while next < parts {
                        step += 1
                        // Now and then it sends again what came long ago.
                        let number = step % 3 == 0 ? next / 2 : next
                        let part = Array(whole[number * partBytes..<(number + 1) * partBytes])
                        do {
                            try hubs[(sender + step) % 2]
                                .append(part, to: path, at: number * partBytes)
                            // What was told to be there stays.
                            let there = try hubs[sender % 2].uploadedBytes(at: path)
                            #expect(there >= (next + (number == next ? 1 : 0)) * partBytes)
                            if number == next { next += 1 }
                        } catch let gap as PartGap {
                            Issue.record("\(gap)")
                            return
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let file = try kept.file(whole)
        try kept.files.keep(path, as: file)
        #expect(try hubs[1].read(file, 0..<whole.count) == whole)
    }

    /// A second sender tries at every step of the first one's end.
    @Test(arguments: Place.allCases, 0..<4)
    func `what is kept are the bytes that the digest is of, whoever sends meanwhile`(
        place: Place, step: Int
    ) throws {
        let kept = try Kept(place)
        defer { withExtendedLifetime(kept) {} }
        let files = kept.files
        let (path, taken) = (files.partsPath([1]), files.incomingPath([2]))
        func attack(_ number: Int) throws {
            guard step == number else { return }
            try files.append(Array("abcdefghij".utf8), to: path, at: 0)
        }
        try files.append(Array("0123456789".utf8), to: path, at: 0)
        #expect(try !files.take(path, byteCount: 9, to: taken))
        try attack(0)
        #expect(try files.take(path, byteCount: 10, to: taken))
        try attack(1)
        let digest = try files.digest(ofUploadAt: taken)
        try attack(2)
        let content = Array((step == 0 ? "abcdefghij" : "0123456789").utf8)
        #expect(digest == Digest.sha256(content))
        let file = try kept.file(content)
        try files.keep(taken, as: file)
        try attack(3)
        #expect(try files.read(file, 0..<20) == content)
        #expect(try files.uploadedBytes(at: path) == (step == 0 ? 0 : 10))
        #expect(try files.uploadedBytes(at: taken) == 0)
    }

    @Test(arguments: Place.allCases)
    func `an upload that was taken and not kept comes back, unless another one began`(
        place: Place
    ) throws {
        let kept = try Kept(place)
        defer { withExtendedLifetime(kept) {} }
        let files = kept.files
        let (path, taken) = (files.partsPath([1]), files.incomingPath([2]))
        #expect(try !files.take(path, byteCount: 2, to: taken))
        try files.append([1, 2], to: path, at: 0)
        #expect(try files.take(path, byteCount: 2, to: taken))
        files.putBack(taken, to: path)
        try files.append([3], to: path, at: 2)
        #expect(try files.digest(ofUploadAt: path) == Digest.sha256([1, 2, 3]))
        #expect(try files.take(path, byteCount: 3, to: taken))
        try files.append([4], to: path, at: 0)
        files.putBack(taken, to: path)
        #expect(try files.digest(ofUploadAt: path) == Digest.sha256([4]))
        #expect(try files.uploadedBytes(at: taken) == 0)
    }

    @Test func `a file that is there is not replaced`() throws {
        let kept = try Kept(.folder)
        defer { withExtendedLifetime(kept) {} }
        let file = try kept.file("ab")
        try Self.keep("ab", as: file, kept.files)
        let taken = kept.files.incomingPath([2])
        try kept.files.write([9, 9], to: taken)
        try kept.files.keep(taken, as: file)
        #expect(try kept.files.read(file, 0..<2) == Array("ab".utf8))
        #expect(try kept.files.uploadedBytes(at: taken) == 0)
    }

    @Test(arguments: Place.allCases)
    func `an upload in parts that is discarded begins anew`(place: Place) throws {
        let kept = try Kept(place)
        let files = kept.files
        defer { withExtendedLifetime(kept) {} }
        let path = files.partsPath([1])
        try files.append([1, 2], to: path, at: 0)
        files.discard(path)
        files.discard(path)
        #expect(try files.uploadedBytes(at: path) == 0)
        #expect(throws: PartGap(uploadedBytes: 0)) { try files.append([3], to: path, at: 2) }
    }

    /// Objects go one by one, by the rows that name them.
    @Test(arguments: [Place.folder, .memory])
    func `the files of a partition go together`(place: Place) throws {
        let kept = try Kept(place)
        let files = kept.files
        defer { withExtendedLifetime(kept) {} }
        for number in [1, 0x10, 2] as [UInt64] {
            try Self.keep("a", as: kept.file("a", in: number), files)
            try Self.keep("b", as: kept.file("b", in: number), files)
        }
        try files.removeAll(of: Partition(number: 1))
        try files.removeAll(of: Partition(number: 1))
        for (number, isThere) in [(1, false), (0x10, true), (2, true)] as [(UInt64, Bool)] {
            for text in ["a", "b"] {
                #expect(try files.holds(kept.file(text, in: number)) == isThere)
            }
        }
        try Self.keep("a", as: kept.file("a"), files)
        #expect(try files.holds(kept.file("a")))
    }

    @Test func `a file's text is one alone, and no path`() throws {
        let file = try Kept(.folder).file("a", in: 0x2A)
        #expect(HubFile(text: file.text) == file && file.text.hasPrefix("2a-"))
        let checksum = file.checksum
        for text in [
            checksum, "-" + checksum, "2A-" + checksum, "02a-" + checksum, "2a-" + checksum + "0",
            "2a-" + checksum.uppercased(), "2a-../" + checksum.dropFirst(3), "2a--" + checksum, "",
        ] {
            #expect(HubFile(text: text) == nil, "\(text)")
        }
    }
}
