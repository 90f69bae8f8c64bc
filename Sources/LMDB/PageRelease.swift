/// How much one step of a release may do, while writers wait.
package struct PageReleaseBudget: Hashable, Sendable {
    /// The most runs of pages; each is a call of the file system.
    package var runs = 8
    /// The most pages.
    package var pages = 1_024
    /// Shorter runs stay allocated: they cost a call each, and split the file into pieces.
    package var pagesPerRunMin = 16
    /// So many free pages, the lowest, stay allocated for the next commits.
    package var reserve = 64

    package init() {}
}

/// What one step of a release did.
package struct PageRelease: Hashable, Sendable {
    /// The bytes that the file system got back.
    package var bytes = 0
    /// The free pages that the next commit may use, with and without blocks.
    package var reusablePages = 0
    /// Where the next step goes on: with pages below this one. Nil if nothing is left to do.
    package var next: Int?
    /// Whether the file system can take pages out of the middle of a file.
    package var isSupported = true
}
