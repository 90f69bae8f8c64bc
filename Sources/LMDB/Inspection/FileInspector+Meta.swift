extension FileInspector {
    /// Reads both meta pages and returns the one that LMDB would use, or the one that can be read.
    mutating func newestMeta(fileBytes: Int) throws(LMDBError) -> MetaPage? {
        let first = try meta(at: 0, number: 0)
        if let first { pageBytes = first.pageBytes } else { findPageSize(fileBytes) }
        let second = try meta(at: pageBytes, number: 1)
        switch (first, second) {
        case (nil, nil):
            result.note(.meta, "No meta page can be read.")
            result.isLastCommit = false
            return nil
        case (let meta?, nil), (nil, let meta?):
            result.note(.meta, "Only one of the two meta pages can be read.")
            result.isLastCommit = false
            return meta
        case (let first?, let second?):
            guard first.pageBytes == second.pageBytes else {
                result.note(.meta, "The meta pages name two page sizes.")
                result.isLastCommit = false
                return first
            }
            check(first, second)
            return first.transaction < second.transaction ? second : first
        }
    }

    /// Commits use the meta pages in turn, so that their numbers follow from one another.
    private mutating func check(_ first: MetaPage, _ second: MetaPage) {
        let (older, newer) =
            first.transaction < second.transaction ? (first, second) : (second, first)
        if newer.transaction == 0 { return }
        let isInTurn =
            older.transaction == newer.transaction - 1 && first.transaction % 2 == 0
        if !isInTurn {
            result.note(
                .meta,
                "The meta pages are of commits \(first.transaction) and \(second.transaction), "
                    + "which don't follow one another.")
            result.isLastCommit = false
        }
    }

    private mutating func meta(at offset: Int, number: Int) throws(LMDBError) -> MetaPage? {
        do throws(LMDBError) {
            let bytes = try file.read(at: offset, count: MetaPage.byteCount, .truncated)
            let meta = try MetaPage(bytes, path: file.path)
            let header = Array(bytes.prefix(PageWalk.headerBytes))
            let sound = MetaPage.header(number: number)
            guard header.prefix(8) == sound.prefix(8), header[10..<12] == sound[10..<12] else {
                throw file.damaged("Its header is another page's.")
            }
            return meta
        } catch {
            if error.code == .io || error.code == .permissionDenied { throw error }
            return nil
        }
    }

    /// Finds the size of pages by the second meta page.
    private mutating func findPageSize(_ fileBytes: Int) {
        for size in [4096, 16384, 65536, 8192, 32768, 2048, 1024, 512, 256] {
            guard size + MetaPage.byteCount <= fileBytes,
                let bytes = try? file.read(at: size, count: MetaPage.byteCount, .truncated),
                let meta = try? MetaPage(bytes, path: file.path), meta.pageBytes == size
            else { continue }
            pageBytes = size
            return
        }
    }
}
