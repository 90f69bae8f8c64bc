import Backstitch
import TestBudget
import Testing

@testable import BackstitchDemo

@Suite(.budgeted) struct PackageIndexTests {
    private let plain = [
        "Package": "lxde", "Version": "11", "Architecture": "all",
        "Maintainer": "Jörg <JOERG@example.org>", "Section": "x11", "Size": "12",
        "Description": "a desktop\nwith more",
    ]

    @Test func `a stanza becomes a package with its references`() {
        var index = PackageIndex()
        #expect(index.add(Deb822Stanza(line: 1, fields: plain)) == nil)
        let data = index.data
        #expect(data.count == 3)
        let package = data.records.first
        #expect(package?.id == Package.ID("lxde_11_all"))
        #expect(package?.summary == "a desktop")
        #expect(package?.bytes == 12)
        #expect(package?.installedKilobytes == nil)
        #expect(package?.section == Section.ID("section:x11"))
        #expect(package?.maintainer == Maintainer.ID("maintainer:joerg@example.org"))
        let maintainer = data.others.compactMap { $0 as? Maintainer }.first
        #expect(maintainer?.name == "Jörg")
    }

    @Test(arguments: ["Package", "Version", "Architecture"])
    func `a stanza without a part of the name is refused`(name: String) {
        var index = PackageIndex()
        var fields = plain
        fields[name] = nil
        #expect(index.add(Deb822Stanza(line: 1, fields: fields)) == "there is no \(name)")
        #expect(index.isEmpty)
    }

    @Test func `the first of two with one name, version and architecture counts`() {
        var index = PackageIndex()
        var other = plain
        other["Description"] = "another"
        #expect(index.add(Deb822Stanza(line: 1, fields: plain)) == nil)
        #expect(index.add(Deb822Stanza(line: 9, fields: other)) == nil)
        #expect(index.repeats == 1)
        #expect(index.data.records.map(\.summary) == ["a desktop"])
        other["Version"] = "12"
        #expect(index.add(Deb822Stanza(line: 18, fields: other)) == nil)
        #expect(index.data.records.count == 2)
    }

    @Test func `numbers and names that can't be stored are refused`() {
        var index = PackageIndex()
        var fields = plain
        fields["Size"] = "many"
        #expect(index.add(Deb822Stanza(line: 1, fields: fields)) == "Size is no number: 'many'")
        fields = plain
        fields["Package"] = "é"
        #expect(index.add(Deb822Stanza(line: 1, fields: fields)) != nil)
    }

    @Test func `any text becomes part of a record name`() {
        #expect(PackageIndex.recordNamePart("a b%é") == "a%20b%25%C3%A9")
        let long = PackageIndex.recordNamePart(String(repeating: "x", count: 999) + "y")
        #expect(long.utf8.count <= 200)
        #expect(long != PackageIndex.recordNamePart(String(repeating: "x", count: 999) + "z"))
    }

    @Test func `the list of countries is whole`() {
        let data = CountryData.data
        #expect(data.others.count == 249)
        #expect(data.records.count == 277)
        #expect(data.records.contains { $0.name == "Bayern" && $0.kind == "Land" })
        #expect(Set(data.records.map(\.id)).count == data.records.count)
    }
}
