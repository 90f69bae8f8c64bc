public import BackstitchCore

extension Query {
    /// The answer of a query, page by page, each read in a short transaction of its own.
    ///
    /// ``RecordReading/page(_:after:count:)`` says how writes in between are treated.
    public struct Pages: AsyncSequence, Sendable {
        let store: Store
        let query: Query<Model>
        let size: Int
        let start: QueryCursor?

        /// Begins to read.
        public func makeAsyncIterator() -> Iterator { Iterator(pages: self) }

        /// Reads pages one after another.
        public struct Iterator: AsyncIteratorProtocol {
            private let pages: Pages
            /// The beginning of the next page; nil before the first page and after the last.
            public private(set) var cursor: QueryCursor?
            private var isAtEnd = false

            init(pages: Pages) {
                self.pages = pages
                cursor = pages.start
            }

            /// The records of the next page, at least one; nil after the last page. It is read on a thread apart.
            ///
            /// - Throws: what reading the page throws, `CancellationError` if the task was cancelled
            ///   before or meanwhile. After that the same page can be asked for again.
            public mutating func next() async throws -> [Model]? {
                if isAtEnd { return nil }
                let cursor = cursor
                let pages = pages
                let page = try await pages.store.asyncRead {
                    try $0.page(pages.query, after: cursor, count: pages.size)
                }
                self.cursor = page.next
                isAtEnd = page.next == nil
                return page.rows.isEmpty ? nil : page.rows
            }
        }
    }
}

extension Store {
    /// The answer of a query in pages, for exports and other long reads that must not keep one
    /// transaction open.
    ///
    /// - Parameters:
    ///   - cursor: The place to continue from; nil for the start of the answer.
    ///   - size: The most records of a page, at least one.
    public func pages<Model: Entity>(
        _ query: Query<Model>, after cursor: QueryCursor? = nil, size: Int = 1000
    ) -> Query<Model>.Pages {
        Query<Model>.Pages(store: self, query: query, size: size, start: cursor)
    }
}
